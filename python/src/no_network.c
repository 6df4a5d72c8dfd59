// Functions of libcurl and libcrypto that fail. Debian's static libhdf5 names them in its driver for files of Amazon
// S3, which nothing asks for here; a command that is linked with these instead brings neither library along.
#include <stddef.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define CURLE_FAILED_INIT 2

HIDDEN int curl_global_init(long flags) {
    (void)flags;
    return CURLE_FAILED_INIT;
}
HIDDEN void curl_global_cleanup(void) {}
HIDDEN void* curl_easy_init(void) {
    return NULL;
}
HIDDEN void curl_easy_cleanup(void* handle) {
    (void)handle;
}
HIDDEN int curl_easy_setopt(void* handle, int option, ...) {
    (void)handle, (void)option;
    return CURLE_FAILED_INIT;
}
HIDDEN int curl_easy_perform(void* handle) {
    (void)handle;
    return CURLE_FAILED_INIT;
}
HIDDEN void* curl_slist_append(void* list, const char* text) {
    (void)list, (void)text;
    return NULL;
}
HIDDEN void curl_slist_free_all(void* list) {
    (void)list;
}
HIDDEN const void* EVP_sha256(void) {
    return NULL;
}
HIDDEN unsigned char* HMAC(const void* kind, const void* key, int key_size, const unsigned char* data, size_t size,
                           unsigned char* out, unsigned int* out_size) {
    (void)kind, (void)key, (void)key_size, (void)data, (void)size, (void)out, (void)out_size;
    return NULL;
}
HIDDEN unsigned char* SHA256(const unsigned char* data, size_t size, unsigned char* out) {
    (void)data, (void)size, (void)out;
    return NULL;
}

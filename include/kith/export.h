/* KITH_EXPORT marks the symbols that the shared libraries export: every public function that is not inline, and
 * kith::Error, so that it can be caught outside. All other symbols are hidden. */
#ifndef KITH_EXPORT_H
#define KITH_EXPORT_H

#if defined(__GNUC__)
#define KITH_EXPORT __attribute__((visibility("default")))
#else
#define KITH_EXPORT
#endif

#endif /* KITH_EXPORT_H */

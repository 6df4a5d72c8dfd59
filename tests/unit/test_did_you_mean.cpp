// Names that are near a word, and words that are near none.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kith/did_you_mean.h"
#include "kith/error.h"
#include "kith/types.h"

namespace {

std::string meant(const std::string& word, const std::vector<std::string>& names) {
    return kith::did_you_mean(word, names);
}

TEST(DidYouMean, IsNear) {
    const std::vector<std::string> names = {"sqeuclidean", "euclidean", "l2", "cosine", "correlation", "inner_product"};
    EXPECT_EQ(meant("euclidian", names), " (did you mean euclidean?)");
    EXPECT_EQ(meant("COSINE", names), " (did you mean cosine?)");
    EXPECT_EQ(meant("cos", names), " (did you mean cosine?)");
    EXPECT_EQ(meant("cosien", names), " (did you mean cosine?)");
    EXPECT_EQ(meant("L2", names), " (did you mean l2?)");
    EXPECT_EQ(meant("innerproduct", names), " (did you mean inner_product?)");
    EXPECT_EQ(meant("inner-product", names), " (did you mean inner_product?)");
    EXPECT_EQ(meant("--query", {"--base", "--queries"}), " (did you mean --queries?)");
    // The same in other letters comes before what begins with it.
    EXPECT_EQ(meant("IP", {"ipsum", "ip"}), " (did you mean ip?)");
}

TEST(DidYouMean, IsNearNone) {
    EXPECT_EQ(meant("", {"a"}), "");
    EXPECT_EQ(meant("l3", {"l1", "l2"}), "");
    EXPECT_EQ(meant("hamster", {"cosine", "canberra"}), "");
    EXPECT_EQ(meant("anything", {}), "");
    EXPECT_EQ(meant(std::string(100000, 'x'), {std::string(100, 'x')}), "");
}

TEST(DidYouMean, MetricsSaySo) {
    try {
        kith::metric_named("euclidian");
        FAIL();
    } catch (const kith::Error& error) {
        EXPECT_NE(std::string(error.what()).find("'euclidian' is unknown (did you mean euclidean?)"),
                  std::string::npos);
    }
}

}  // namespace

#include "runtime/family/families.hpp"

#include <gmock/gmock.h>

#include "runtime/family/own/own_decoder.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct NamedDecoder final : OwnDecoder {
  const ModelKeys& keys() const override {
    static const ModelKeys all = decoder_keys("of_plugin", "OfPluginForCausalLM");
    return all;
  }
};

std::unique_ptr<const Family> of_name(std::string_view name) {
  return std::make_unique<FamilyOf<NamedDecoder>>(name, "");
}

TEST(Families, APluginsOwnIsFoundAsThoseOfD9dAre) {
  const std::size_t before = families().size();

  add_family(of_name("of_plugin"), "the plugin a.so");

  ASSERT_NE(find_family("of_plugin"), nullptr);
  EXPECT_TRUE(is_own(*find_family("of_plugin")));
  EXPECT_FALSE(is_own(*find_family("llama")));
  EXPECT_EQ(families().size(), before + 1);
  EXPECT_EQ(families().back(), find_family("of_plugin"));
}

TEST(Families, ANameOnceOnly) {
  add_family(of_name("twice"), "the plugin a.so");

  EXPECT_THAT(error_of([] { add_family(of_name("twice"), "the plugin b.so"); }),
              AllOf(HasSubstr("the plugin b.so registers the family \"twice\""),
                    HasSubstr("the plugin a.so has already"), HasSubstr("another name")));
  EXPECT_THAT(error_of([] { add_family(of_name("llama"), "the plugin b.so"); }),
              HasSubstr("\"llama\", which d9d has already"));
}

TEST(Families, ANameIsAWord) {
  for (const char* name : {"", "my family", "a/b", "../up"})
    EXPECT_THAT(error_of([&] { add_family(of_name(name), "the plugin a.so"); }), HasSubstr("use letters"))
        << name;
  EXPECT_THAT(error_of([] { add_family(nullptr, "the plugin a.so"); }), HasSubstr("a family that is null"));
}

TEST(Families, AFunctionOfALibraryIsCalledOnce) {
  const int function = 0;

  EXPECT_TRUE(is_first_call(&function));
  EXPECT_FALSE(is_first_call(&function));
}

}  // namespace
}  // namespace d9d::test

#include "runtime/plugin/plugin_collation.hpp"

#include <ATen/ops/ones.h>
#include <gmock/gmock.h>

#include "runtime/data/read_microbatch.hpp"
#include "tests/support/error_of.hpp"

namespace d9d {
namespace {

using ::testing::HasSubstr;

class AnyCollation final : public Collation {
 public:
  explicit AnyCollation(std::function<TensorMap(std::span<const Sample>)> make) : make_(std::move(make)) {}
  TensorMap collate(std::span<const Sample> samples) const override { return make_(samples); }

 private:
  const std::function<TensorMap(std::span<const Sample>)> make_;
};

const std::vector<Sample> samples{{{1, 2}, {2, 3}}, {{4, 5}, {5, 6}}};

TensorMap batch_of(std::function<TensorMap(std::span<const Sample>)> make) {
  return PluginCollation("mine", std::make_shared<AnyCollation>(std::move(make))).collate(samples);
}

TEST(PluginCollation, PassesGoodBatchesOn) {
  const TensorMap batch = batch_of([](auto given) {
    TensorMap made = make_microbatch(given);
    made["image/pixels"] = at::ones({2, 3});
    return made;
  });

  EXPECT_EQ(batch.at("input_ids").size(0), 2);
  EXPECT_EQ(batch.count("image/pixels"), 1U);
}

TensorMap half_of(std::span<const Sample> given) {
  return make_microbatch(given.first(given.size() / 2));
}

TEST(PluginCollation, WarnsOnceOfSamplesThatItLoses) {
  const auto said = [](auto make, int times) {
    const PluginCollation collation("mine", std::make_shared<AnyCollation>(make));
    testing::internal::CaptureStderr();
    for (int i = 0; i < times; ++i) collation.collate(samples);
    return testing::internal::GetCapturedStderr();
  };
  const auto in_one_row = [](auto given) {
    TensorMap made = half_of(given);
    made["document_starts"] = at::ones({1, 2}, at::kLong);
    return made;
  };

  const std::string warning =
      "the collation \"mine\" makes 1 row of input_ids of 2 samples: does it lose samples?";
  const std::string text = said(half_of, 3);
  EXPECT_THAT(text, HasSubstr(warning));
  EXPECT_EQ(text.find(warning), text.rfind(warning));
  EXPECT_EQ(said(in_one_row, 1), "");
  EXPECT_EQ(said([](auto given) { return make_microbatch(given); }, 1), "");
}

TEST(PluginCollation, NamesItselfInWhatGoesWrong) {
  const auto error_of = [](auto make) { return test::error_of([&] { batch_of(make); }, ErrorKind::input); };

  EXPECT_THAT(error_of([](auto) { return TensorMap(); }),
              HasSubstr("\"mine\" makes batches without tensors"));
  EXPECT_THAT(error_of([](auto) {
                return TensorMap{{"ids", at::Tensor()}};
              }),
              HasSubstr("makes ids, which has no values"));
  EXPECT_THAT(test::error_of([] { PluginCollation("mine", nullptr); }), HasSubstr("made none"));
  EXPECT_THAT(test::error_of([] { batch_of([](auto) -> TensorMap { throw std::runtime_error("no mask"); }); },
                             ErrorKind::environment),
              HasSubstr("the collation \"mine\" threw: no mask"));
}

}  // namespace
}  // namespace d9d

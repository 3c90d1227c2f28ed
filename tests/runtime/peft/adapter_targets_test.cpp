// That peft finds what is named in this way: tests/golden/peft, in tests/runtime/provider/family_adapter_test.cpp.
#include "runtime/peft/adapter_targets.hpp"

#include <gmock/gmock.h>

#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// An adapter of a linear, or of the same linear of experts 0 and 1 where the path has an N.
NamedAdapter named_adapter(const std::string& path) {
  NamedAdapter named;
  const std::size_t at = path.find('N');
  if (at == std::string::npos) {
    named.modules = {{path, {}}};
    return named;
  }
  for (const std::int64_t expert : {0, 1})
    named.modules.push_back({path.substr(0, at) + std::to_string(expert) + path.substr(at + 1), expert});
  return named;
}

std::vector<NamedAdapter> adapters_of(const std::vector<std::string>& paths) {
  std::vector<NamedAdapter> all;
  for (const std::string& path : paths) all.push_back(named_adapter(path));
  return all;
}

const std::vector<std::string> experts{"l.1.mlp.experts.N.gate_proj", "l.1.mlp.experts.N.up_proj",
                                       "l.1.mlp.experts.N.down_proj"};

TEST(AdapterTargets, AreLastNamesWhereNoLinearWithoutAdapterHasThem) {
  const auto targets = targets_of(adapters_of({"l.0.q_proj", "l.0.k_proj"}), {"l.1.k_proj"}, true);

  EXPECT_THAT(targets.modules, ElementsAre("l.0.k_proj", "q_proj"));
  EXPECT_THAT(targets.parameters, IsEmpty());
}

TEST(AdapterTargets, AreWeightsOfLinearsThatPeftTakesForExperts) {
  auto both = adapters_of(experts);
  both.push_back(named_adapter("l.0.mlp.up_proj"));

  const auto taken = targets_of(both, {}, true), known = targets_of(both, {}, false);

  EXPECT_THAT(taken.parameters, ElementsAre("l.0.mlp.up_proj.weight"));
  EXPECT_THAT(taken.modules, ElementsAre("down_proj", "experts.0.up_proj", "experts.1.up_proj", "gate_proj"));
  EXPECT_THAT(known.parameters, ElementsAre("experts.down_proj", "experts.gate_up_proj"));
  EXPECT_THAT(known.modules, ElementsAre("down_proj", "gate_proj", "up_proj"));
}

TEST(AdapterTargets, HaveTheDownProjectionBesideGateAndUp) {
  const auto targets = targets_of(adapters_of({experts[0], experts[1]}), {}, true);

  EXPECT_THAT(targets.parameters, ElementsAre("experts.down_proj"));
}

TEST(AdapterTargets, RefuseWhatPeftCannotRead) {
  EXPECT_THAT(error_of([&] {
                targets_of(adapters_of({experts[1], experts[2]}), {}, true);
              }),
              HasSubstr("experts.0.up_proj has an adapter without the expert's gate projection"));
  auto dora = adapters_of({"l.0.mlp.up_proj"});
  dora[0].adapter.config.params.use_dora = true;
  EXPECT_THAT(error_of([&] { targets_of(dora, {}, true); }), HasSubstr("leave use_dora out"));
  EXPECT_EQ(error_of([&] { targets_of(dora, {}, false); }), "no error");
}

}  // namespace
}  // namespace d9d::test

#include "runtime/peft/adapter_files.hpp"

#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include "runtime/base/error.hpp"
#include "runtime/state/tensor_file/safetensors.hpp"
#include "tests/runtime/peft/adapted_stage.hpp"
#include "tests/runtime/state/scratch.hpp"
#include "tests/support/error_of.hpp"

namespace d9d::test {
namespace {

using testing::HasSubstr;

class AdapterFiles : public testing::Test {
 protected:
  static std::vector<NamedAdapter> named(StageModule& stage) {
    const auto mapper = tiny_mixture().to_hugging_face();
    std::vector<NamedAdapter> adapters;
    for (const LoraAdapter& adapter : lora_adapters(stage)) {
      adapters.push_back({adapter, modules_of(*mapper, adapter.weight)});
    }
    return adapters;
  }

  void write(StageModule& stage) {
    std::map<std::string, at::Tensor> values;
    for (const StageParameter& parameter : stage.parameters()) {
      values[parameter.name] = parameter.tensor.detach();
    }
    const auto adapters = named(stage);
    write_adapters(disk_, folder_.path(), adapters, {}, adapter_config_json(adapters, {}, ""),
                   [&](const std::string& name) { return values.at(name); });
  }

  PeftConfig started(const std::string& pattern, std::int64_t r = 2) const {
    LoraConfig config = lora(pattern, r);
    config.from = folder_.path();
    return config;
  }

  std::string error_of(const PeftConfig& config) const {
    return test::error_of([&] { check_adapters(disk_, named(*adapted_stage(config))); }, ErrorKind::input);
  }

  PosixDisk disk_;
  Scratch folder_;
};

constexpr const char* some = R"(.*(q_proj|down_proj))";

TEST_F(AdapterFiles, AreReadAsTheyWereWritten) {
  const auto source = adapted_stage(lora(some));
  write(*source);
  const auto target = adapted_stage(started(some));
  for (const LoraAdapter& adapter : lora_adapters(*target)) adapter.a.tensor.detach().zero_();

  EXPECT_EQ(error_of(started(some)), "no error");
  load_adapters(disk_, named(*target), target->parameters());

  const auto written = lora_adapters(*source), read = lora_adapters(*target);
  ASSERT_EQ(read.size(), 4U);
  for (std::size_t i = 0; i < read.size(); ++i) {
    EXPECT_TRUE(at::equal(read[i].a.tensor, written[i].a.tensor)) << read[i].path;
    EXPECT_TRUE(at::equal(read[i].b.tensor, written[i].b.tensor)) << read[i].path;
  }
}

TEST_F(AdapterFiles, FillTheBlocksOfARank) {
  const auto source = adapted_stage(lora(some));
  write(*source);
  const auto target = adapted_stage(started(some));
  const auto adapters = named(*target);
  // The second of two ranks of expert parallelism; the factor's own dimension in two parts, too.
  std::vector<StageParameter> parts;
  for (const LoraAdapter& adapter : lora_adapters(*target)) {
    StageParameter part = adapter.b;
    const int dims = static_cast<int>(part.layout.global_shape().size());
    part.layout = Layout(part.layout.global_shape(),
                         {{"first", 2, 1, Placement::shard(0)}, {"last", 2, 1, Placement::shard(dims - 1)}});
    part.tensor = at::zeros(part.layout.local_slice().shape(), at::kFloat);
    parts.push_back(part);
  }

  load_adapters(disk_, adapters, parts);

  const auto written = lora_adapters(*source);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const at::Tensor& whole = written[i].b.tensor;
    const std::int64_t half = whole.size(0) / 2;
    EXPECT_TRUE(at::equal(parts[i].tensor, whole.narrow(0, half, half).narrow(-1, 1, 1))) << parts[i].name;
  }
}

TEST_F(AdapterFiles, AreRefusedWhereTheyDoNotFit) {
  write(*adapted_stage(lora(some)));

  EXPECT_THAT(error_of(started(".*(q_proj|k_proj|down_proj)")), HasSubstr("k_proj.lora_A.weight; does"));
  EXPECT_THAT(error_of(started(".*q_proj")),
              HasSubstr("tensors of modules that module_name_pattern does not"));
  EXPECT_THAT(error_of(started(some, 3)), HasSubstr("says r = 2, the job 3"));
}

}  // namespace
}  // namespace d9d::test

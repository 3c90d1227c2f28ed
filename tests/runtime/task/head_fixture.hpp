#pragma once
// Models of tests/golden/heads with heads as a job would give them.

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "runtime/base/error.hpp"
#include "runtime/family/hugging_face_config.hpp"
#include "runtime/nn/model/build_options.hpp"
#include "runtime/provider/hugging_face_model.hpp"
#include "tests/runtime/family/golden_model.hpp"
#include "tests/runtime/state/held_tensors.hpp"

namespace d9d::test {

class Heads : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // The golden model's body with this head, as a job would describe it.
  std::shared_ptr<FamilyModel> model_with(const std::string& name, const HeadMap& heads) const {
    auto config = nlohmann::json::parse(read_text(disk_, golden_folder(name) + "/config.json", 1 << 20));
    config.erase("architectures");
    auto model = parse_hugging_face_config(config.dump(), name);
    model->heads = heads;
    return model;
  }
  std::unique_ptr<StageModule> loaded(const FamilyModel& model, const std::string& name) const {
    auto stage = model.build_stage({}, {});
    load_hugging_face_weights(disk_, golden_folder(name), model, {}, stage->parameters());
    zero_gradients(*stage);
    return stage;
  }

  PosixDisk disk_;
  std::string folder_ = testing::TempDir() + "d9d_heads_" + std::to_string(::getpid());
};

inline const HeadMap classifier{{"", ClassificationHead{3, 0}}};
inline const HeadMap normalised{{"", EmbeddingHead{{}, true}}};

inline void expect_gradients(StageModule& stage, const TensorMap& expect, const std::string& prefix) {
  for (const auto& [name, gradient] : gradients_of(stage)) {
    const std::string theirs = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    EXPECT_LT(relative_difference(gradient, expect.at("grad." + theirs)), 1e-4) << name;
  }
}

}  // namespace d9d::test

#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/family/hugging_face_config.hpp"
#include "runtime/state/mapper/mapper.hpp"
#include "tests/runtime/family/golden_model.hpp"

namespace d9d::test {
namespace {

TensorMap applied(const StateMapper& mapper, const TensorMap& tensors) {
  TensorMap made;
  for (const StateGroup& group : mapper.groups()) {
    TensorMap inputs;
    for (const std::string& name : group.inputs) inputs[name] = tensors.at(name);
    made.merge(mapper.apply(inputs));
  }
  return made;
}

struct Folder {
  const char* name;
  HeadMap heads;
};

// The folder of each model, read and written again, has its names and bytes.
TEST(ModernBertTensors, AreWrittenAsTheyWereRead) {
  for (const Folder& folder :
       {Folder{"modernbert", {}}, Folder{"modernbert_padded", {}}, Folder{"modernbert_full", {}},
        Folder{"classifier", {{"", ClassificationHead{.num_labels = 3}}}},
        Folder{"body", {{"", EmbeddingHead{}}}}}) {
    const std::string path = golden_folder(std::string("modernbert/") + folder.name);
    const TensorMap stored = read_safetensors(path + "/model.safetensors");
    const GoldenModel golden = golden_model(std::string("modernbert/") + folder.name,
                                            [&](FamilyModel& model) { model.heads = folder.heads; });

    const TensorMap written = applied(*golden.model->parameters_to_folder(), golden.weights);

    EXPECT_EQ(written.size(), stored.size()) << folder.name;
    for (const auto& [name, tensor] : stored) {
      ASSERT_TRUE(written.contains(name)) << folder.name << " " << name;
      EXPECT_TRUE(bitwise_equal(written.at(name), tensor)) << folder.name << " " << name;
    }
  }
}

// A folder with the heads of other ends: its own are read, the others left.
TEST(ModernBertTensors, OfOtherHeadsAreLeftUnread) {
  const std::string path = golden_folder("modernbert/modernbert");
  Names stored;
  for (const auto& [name, tensor] : read_safetensors(path + "/model.safetensors")) stored.insert(name);
  const auto model = read_hugging_face_config(path);
  const auto unread = [&](HeadMap heads) {
    model->heads = std::move(heads);
    return model->unread_in_folder(stored);
  };
  const auto is_unread = [](const std::vector<std::string>& names, const char* name) {
    return std::count(names.begin(), names.end(), name) > 0;
  };

  EXPECT_THAT(unread({}), testing::IsEmpty());
  const auto of_classes = unread({{"", ClassificationHead{.num_labels = 2}}});
  EXPECT_TRUE(is_unread(of_classes, "decoder.bias"));
  EXPECT_FALSE(is_unread(of_classes, "head.dense.weight"));
  const auto of_vectors = unread({{"", EmbeddingHead{}}});
  EXPECT_TRUE(is_unread(of_vectors, "decoder.bias") && is_unread(of_vectors, "head.norm.weight"));
}

}  // namespace
}  // namespace d9d::test

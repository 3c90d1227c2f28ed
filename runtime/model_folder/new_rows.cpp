#include <ATen/ops/cat.h>

#include "runtime/model_folder/new_rows.hpp"

#include <algorithm>
#include <utility>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/family/folder/folder_names.hpp"
#include "runtime/nn/model/initial_weights.hpp"
#include "runtime/state/mapper/compose.hpp"
#include "runtime/state/mapper/mean_rows.hpp"

namespace d9d {
namespace {

std::int64_t rows_in(const ModelFiles& files, const FamilyModel& model) {
  const FolderNames folder(files.names(), model.tie_word_embeddings);
  if (!folder.names().contains(embedding_table)) return 0;
  const Shape& shape = files.spec(folder.in_folder(embedding_table)).shape;
  return shape.empty() ? 0 : shape.front();
}

class DrawnRows final : public StateMapper {
 public:
  DrawnRows(StageParameter parameter, std::uint64_t seed)
      : StateMapper({{{parameter.name}, {parameter.name}}}), parameter_(std::move(parameter)), seed_(seed) {}

 private:
  TensorMap map(const StateGroup&, const TensorMap& inputs) const override {
    const auto& [name, tensor] = *inputs.begin();
    const std::int64_t rows = parameter_.layout.global_shape().at(0);
    D9D_REQUIRE(tensor.dim() > 0 && tensor.size(0) <= rows,
                "\"{}\" has {} rows, more than the {} that it is to have", name,
                tensor.dim() > 0 ? tensor.size(0) : 0, rows);
    return {{name, at::cat({tensor.to(at::kFloat), drawn_rows_of(parameter_, tensor.size(0), seed_)})}};
  }

  const StageParameter parameter_;
  const std::uint64_t seed_;
};

}  // namespace

std::int64_t new_rows(const FamilyModel& model, const ModelFiles& files) {
  const std::int64_t rows = rows_in(files, model);
  if (rows == 0 || !model.vocabulary_parts.empty()) return 0;
  return std::max<std::int64_t>(0, model.vocab_size - rows);
}

MapperPtr folder_to_parameters(const FamilyModel& model, const ModelFiles& files, const NewRows& rows) {
  MapperPtr mapper = model.folder_to_parameters(files.names());
  if (new_rows(model, files) == 0) return mapper;
  std::vector<MapperPtr> longer;
  const auto shapes = model.build_shapes();
  for (const StageParameter& parameter : shapes->parameters()) {
    const std::string& name = parameter.name;
    if ((name != embedding_table && name != head_table) || !outputs_of(*mapper).contains(name)) continue;
    longer.push_back(rows.values == NewRowValues::mean ? mean_rows(name, model.vocab_size)
                                                       : drawn_rows(parameter, rows.seed));
  }
  return sequential({mapper, parallel(std::move(longer))});
}

std::string new_rows_text(const FamilyModel& model, const ModelFiles& files, const NewRows& rows) {
  const std::int64_t count = new_rows(model, files);
  if (count == 0) return "";
  return fmt::format(
      "model_provider.model.vocab_size = {}: {} has {} of them, so each of the {} of the embedding and of "
      "the head is {}",
      model.vocab_size, files.directory(), model.vocab_size - count, counted(count, "new row"),
      rows.values == NewRowValues::mean
          ? "the mean of the others (trainer.model_stage_factory.new_rows)"
          : fmt::format("drawn as the model's initial weights are, from the seed {}", rows.seed));
}

MapperPtr drawn_rows(const StageParameter& parameter, std::uint64_t seed) {
  return std::make_shared<DrawnRows>(parameter, seed);
}

}  // namespace d9d

#include "runtime/state/model/model_reader.hpp"

#include <algorithm>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/state/mapper/restrict.hpp"
#include "runtime/state/model/model_files.hpp"
#include "runtime/state/pattern.hpp"
#include "runtime/state/tensor_file/slice_view.hpp"
#include "runtime/state/weights/not_finite.hpp"
#include "runtime/state/weights/quantised_names.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {
namespace {

using Destinations = std::map<std::string, Destination>;

Names names_without(Names all, const Names& without) {
  for (const auto& name : without) all.erase(name);
  return all;
}

void require_all_read(const ModelFiles& files, const StateMapper& mapper, const LoadOptions& options) {
  const auto unread = without_matches(names_without(files.names(), inputs_of(mapper)), options.allow_unread);
  if (unread.empty()) return;
  const std::string quantiser = quantiser_of(unread);
  D9D_REQUIRE(quantiser.empty(),
              "{} holds weights quantised by {}, which are not read; give the folder of the original weights",
              files.directory(), quantiser);
  D9D_REQUIRE(unread.empty(), "{} holds {} that the model does not use: {}; is it another model?",
              files.directory(), counted(unread.size(), "tensor"), to_text(unread));
}

void require_all_placed(const Names& wanted, const StateMapper& mapper, const LoadOptions& options) {
  const auto made = outputs_of(mapper);
  const auto unmade = names_without(wanted, made);
  D9D_REQUIRE(unmade.empty(), "the mapper does not produce {}: {}", counted(unmade.size(), "parameter"),
              to_text(unmade));
  if (options.part_of_model) return;
  const auto unplaced = names_without(made, wanted);
  D9D_REQUIRE(unplaced.empty(), "the mapper produces {} without a parameter: {}",
              counted(unplaced.size(), "tensor"), to_text(unplaced));
}

template <class Value>
Names names_of(const std::map<std::string, Value>& values) {
  Names names;
  for (const auto& [name, value] : values) names.insert(name);
  return names;
}

void require_slices(const Destinations& destinations) {
  for (const auto& [name, destination] : destinations) {
    require_inside(destination.slice, destination.global_shape, "parameter \"" + name + "\"");
    D9D_REQUIRE(destination.tensor.sizes() == at::IntArrayRef(destination.slice.shape()),
                "parameter \"{}\": its tensor has shape {}, its slice {}", name,
                to_text(destination.tensor.sizes().vec()), to_text(destination.slice.shape()));
  }
}

TensorMap shapes_of(const ModelFiles& files, const StateGroup& group) {
  TensorMap shapes;
  for (const auto& name : group.inputs) shapes[name] = files.shape_only(name);
  return shapes;
}

void require_shape(const ModelFiles& files, const StateGroup& group, const std::string& name,
                   const at::Tensor& made, const Shape& expected) {
  D9D_REQUIRE(made.sizes() == at::IntArrayRef(expected),
              "parameter \"{}\" has shape {}, {} gives {} (from {})", name, to_text(expected),
              files.directory(), to_text(made.sizes().vec()), to_text(group.inputs));
}

// Integers would be taken for what their numbers say, and a quantiser means something else by them.
void require_floats(const ModelFiles& files, const StateGroup& group, const std::string& name,
                    const at::Tensor& made) {
  if (!at::isIntegralType(made.scalar_type(), /*includeBool=*/true)) return;
  for (const std::string& input : group.inputs) {
    const TensorSpec& spec = files.spec(input);
    D9D_REQUIRE(
        !at::isIntegralType(scalar_type_of(spec.dtype), true),
        "{}/{}: \"{}\" is {}, but \"{}\" of the model holds floating-point values; give the folder of "
        "the original weights, which are not quantised",
        files.directory(), files.file_of(input), input, safetensors_name(spec.dtype), name);
  }
}

// Blocks of rows of about that size: reading takes little memory beside the parameters, and the allocator
// keeps little of it afterwards.
constexpr std::int64_t block_bytes = 4 << 20;
template <class Visit>
void for_each_block(const Slice& slice, std::int64_t value_bytes, const Visit& visit) {
  if (slice.begin.empty() || is_empty(slice)) return visit(slice);
  const std::int64_t row_bytes = slice.num_elements() / slice.shape()[0] * value_bytes;
  const std::int64_t rows = std::max<std::int64_t>(block_bytes / row_bytes, 1);
  Slice block = slice;
  for (std::int64_t begin = slice.begin[0]; begin < slice.end[0]; begin += rows) {
    block.begin[0] = begin;
    block.end[0] = std::min(begin + rows, slice.end[0]);
    visit(block);
  }
}

class Load {
 public:
  Load(const ModelFiles& files, const StateMapper& mapper, const Destinations& destinations,
       const LoadOptions& options)
      : files_(files), mapper_(mapper), destinations_(destinations), options_(options) {}

  LoadReport run() {
    const auto groups = files_.in_disk_order(mapper_);
    for (const auto* group : groups) require_shapes(*group);
    for (const auto* group : groups) fill(*group);
    return report_;
  }

 private:
  // Other outputs of a group are another stage's.
  void require_shapes(const StateGroup& group) const {
    for (const auto& [name, tensor] : mapper_.apply(shapes_of(files_, group))) {
      const auto found = destinations_.find(name);
      if (found == destinations_.end()) continue;
      require_shape(files_, group, name, tensor, found->second.global_shape);
      if (found->second.tensor.is_floating_point()) require_floats(files_, group, name, tensor);
    }
  }

  void fill(const StateGroup& group) {
    const auto shapes = shapes_of(files_, group);
    TensorMap applied;
    for (const auto& name : group.outputs) {
      const auto found = destinations_.find(name);
      if (found == destinations_.end()) continue;
      const Destination& destination = found->second;
      if (mapper_.trace(name, destination.slice, shapes)) {
        for_each_block(destination.slice, destination.tensor.element_size(),
                       [&](const Slice& block) { put_block(name, block, shapes, destination); });
      } else {
        put_applied(group, name, destination, applied);
      }
      ++report_.num_tensors;
      if (options_.progress) options_.progress(report_.num_tensors, destinations_.size());
    }
  }

  void put_block(const std::string& name, const Slice& block, const TensorMap& shapes,
                 const Destination& destination) {
    const auto pieces = mapper_.trace(name, block, shapes);
    D9D_CHECK(pieces, "the pieces of \"{}\" are known, but not those of a block of it", name);
    for (const Piece& piece : *pieces) put(piece, destination);
  }

  void put(const Piece& piece, const Destination& destination) {
    if (is_empty(piece.from)) return;
    const at::Tensor source = read(piece.input, piece.from);
    report_.bytes_read += source.nbytes();
    look_at(piece.input, source);
    slice_view(destination.tensor.detach(), relative_to(piece.to, destination.slice))
        .copy_(view_of(piece, source));
  }

  void put_applied(const StateGroup& group, const std::string& name, const Destination& destination,
                   TensorMap& applied) {
    if (applied.empty()) {
      TensorMap inputs;
      for (const auto& input : group.inputs) {
        inputs[input] = read(input, whole(files_.spec(input).shape));
        report_.bytes_read += inputs[input].nbytes();
        look_at(input, inputs[input]);
      }
      applied = mapper_.apply(inputs);
    }
    destination.tensor.detach().copy_(slice_view(applied.at(name), destination.slice));
    applied.at(name).reset();
  }

  // While the values are in the processor's caches.
  void look_at(const std::string& input, const at::Tensor& values) {
    const at::Tensor all = values.contiguous();
    if (has_not_finite(all.const_data_ptr(), all.nbytes(), dtype_of(all.scalar_type())))
      report_.not_finite.insert(input);
  }

  // Blocks of one tensor follow each other: what replaces it is computed once.
  at::Tensor read(const std::string& name, const Slice& slice) {
    if (!options_.replaced) return files_.read(name, slice);
    if (name != replaced_name_) {
      replaced_ = options_.replaced(name);
      replaced_name_ = name;
    }
    return replaced_ ? slice_view(*replaced_, slice) : files_.read(name, slice);
  }

  const ModelFiles& files_;
  const StateMapper& mapper_;
  const Destinations& destinations_;
  const LoadOptions& options_;
  std::string replaced_name_;
  std::optional<at::Tensor> replaced_;
  LoadReport report_;
};

}  // namespace

LoadReport load_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                            const std::map<std::string, Destination>& destinations,
                            const LoadOptions& options) {
  const ModelFiles files(disk, directory);
  require_all_read(files, *mapper, options);
  const Names wanted = names_of(destinations);
  require_slices(destinations);
  require_all_placed(wanted, *mapper, options);
  const auto mine = restrict_to_outputs(mapper, wanted);
  return Load(files, *mine, destinations, options).run();
}

LoadReport load_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                            const std::map<std::string, at::Tensor>& destinations,
                            const LoadOptions& options) {
  Destinations whole_tensors;
  for (const auto& [name, tensor] : destinations) {
    const auto shape = tensor.sizes().vec();
    whole_tensors[name] = {tensor, shape, whole(shape)};
  }
  return load_model_state(disk, directory, mapper, whole_tensors, options);
}

void check_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                       const std::map<std::string, Shape>& parameters, const LoadOptions& options) {
  const ModelFiles files(disk, directory);
  require_all_read(files, *mapper, options);
  require_all_placed(names_of(parameters), *mapper, options);
  for (const auto* group : files.in_disk_order(*mapper)) {
    for (const auto& [name, tensor] : mapper->apply(shapes_of(files, *group))) {
      const auto found = parameters.find(name);
      if (found == parameters.end()) continue;  // of a part of the model
      require_shape(files, *group, name, tensor, found->second);
      require_floats(files, *group, name, tensor);
    }
  }
}

std::string not_finite_text(const Disk& disk, const std::string& directory, const Names& not_finite) {
  if (not_finite.empty()) return "";
  const std::string file = ModelFiles(disk, directory).file_of(*not_finite.begin());
  const std::size_t others = not_finite.size() - 1;
  return fmt::format(
      "{}: \"{}\"{} holds NaN or infinite values; what the model computes with them is no number",
      join_path(directory, file), *not_finite.begin(),
      others == 0 ? "" : fmt::format(", as {} of the folder,", counted(others, "other tensor")));
}

void read_model_state(const Disk& disk, const std::string& directory, const MapperPtr& mapper,
                      const std::function<void(const std::string& name, at::Tensor tensor)>& visit,
                      const LoadOptions& options) {
  const ModelFiles files(disk, directory);
  require_all_read(files, *mapper, options);
  const auto groups = files.in_disk_order(*mapper);
  const auto total = outputs_of(*mapper).size();
  for (const auto* group : groups)
    mapper->apply(shapes_of(files, *group));  // Shape errors come before reading.
  std::size_t done = 0;
  for (const auto* group : groups) {
    TensorMap inputs;
    for (const auto& name : group->inputs) inputs[name] = files.read(name);
    TensorMap outputs = mapper->apply(inputs);
    inputs.clear();
    while (!outputs.empty()) {
      auto output = outputs.extract(outputs.begin());
      visit(output.key(), std::move(output.mapped()));
      if (options.progress) options.progress(++done, total);
    }
  }
}

}  // namespace d9d

#include "runtime/state/model/model_files.hpp"

#include <ATen/ops/empty.h>
#include <ATen/ops/ones.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/state/model/model_index.hpp"
#include "runtime/state/weights/mxfp4.hpp"
#include "runtime/tensor/torch_dtype.hpp"

namespace d9d {

namespace {

constexpr std::uint64_t config_bytes_max = std::uint64_t{1} << 24;

// What config.json says of quantised weights.
struct Quantisation {
  bool given = false;
  Shape block;  // the weights of one scale; empty if not known
};

Quantisation quantisation_in_config(const Disk& disk, const std::string& directory) {
  const std::string path = join_path(directory, "config.json");
  if (!disk.exists(path)) return {};
  using Json = nlohmann::json;
  const Json config = try_parse_json<Json>(read_text(disk, path, config_bytes_max));
  if (!config.is_object()) return {};
  for (const char* at : {"/quantization_config", "/text_config/quantization_config"}) {
    const Json::json_pointer pointer(at);
    if (!config.contains(pointer) || !config.at(pointer).is_object()) continue;
    const Json block = config.at(pointer).value("weight_block_size", Json());
    const bool is_block =
        block.is_array() && block.size() == 2 && block[0].is_number_integer() && block[1].is_number_integer();
    return {true, is_block ? block.get<Shape>() : Shape()};
  }
  return {};
}

// "F8_E4M3", "F8_E5M2", or both.
std::string formats_of(const auto& tensors) {
  const auto has = [&](Float8Format format) {
    return std::ranges::any_of(tensors, [&](const auto& tensor) { return tensor.second.format == format; });
  };
  const bool both = has(Float8Format::e4m3) && has(Float8Format::e5m2);
  if (both) return "F8_E4M3 and F8_E5M2";
  return has(Float8Format::e4m3) ? "F8_E4M3" : "F8_E5M2";
}

// "X." of "X.weight"; of other names nothing.
std::string module_of(const std::string& name) {
  constexpr std::string_view ending = "weight";
  return name.ends_with(".weight") ? name.substr(0, name.size() - ending.size()) : "";
}

}  // namespace

ModelFiles::ModelFiles(const Disk& disk, const std::string& directory, Dtype dequantised)
    : directory_(directory) {
  ModelChoice choice = choose_model_files(disk, directory);
  notes_ = std::move(choice.notes);
  const auto& weights = choice.weights;
  for (const auto& name : choice.files) {
    files_.push_back(std::make_unique<SafetensorsReader>(disk, join_path(directory, name), Float8::allowed));
    for (const auto& tensor : files_.back()->names()) {
      // A shard may hold a tensor that the index places elsewhere; the index decides.
      const bool elsewhere = weights && weights->contains(tensor) && weights->at(tensor) != name;
      if (!elsewhere) add(tensor, files_.size() - 1);
    }
  }
  find_float8(disk, dequantised);
  find_mxfp4(dequantised);
  if (!weights) return;
  for (const auto& [tensor, file] : *weights)
    D9D_REQUIRE(places_.contains(tensor), "{} says that \"{}\" lies in {}, but it does not",
                join_path(directory, model_index_name), tensor, file);
}

void ModelFiles::find_float8(const Disk& disk, Dtype dequantised) {
  std::optional<Quantisation> quantisation;
  Names without_scales;
  for (const auto& [name, place] : places_) {
    const StoredTensor& stored = files_[place.file]->at(name);
    if (!stored.float8) continue;
    if (!quantisation) quantisation = quantisation_in_config(disk, directory_);
    Scaled found = scaled(stored, quantisation->block);
    found.spec.dtype = dequantised;
    (found.scales.empty() ? without_scales : without_name_)
        .insert(found.scales.empty() ? name : found.scales);
    // The scales of activations are of computing in 8 bits.
    if (const std::string module = module_of(name); !module.empty())
      for (const char* of_activations : {"input_scale", "output_scale"})
        if (places_.contains(module + of_activations)) without_name_.insert(module + of_activations);
    float8_.emplace(name, std::move(found));
  }
  if (float8_.empty()) return;
  // So are those of a cache of 8 bits.
  for (const auto& [name, place] : places_)
    for (const char* of_cache : {".k_scale", ".v_scale", ".q_scale"})
      if (name.ends_with(of_cache)) without_name_.insert(name);
  const bool have_scales = without_scales.size() < float8_.size() || quantisation->given;
  D9D_REQUIRE(
      !have_scales || without_scales.empty(),
      "{} holds weights of 8 bits ({}) whose scales are missing: {}; download the folder again, or use "
      "the original weights",
      directory_, formats_of(float8_), to_text(without_scales));
  notes_.push_back(fmt::format("{} holds {} of 8 bits ({}), {} scales: they are read as {}", directory_,
                               counted(float8_.size(), "tensor"), formats_of(float8_),
                               have_scales ? "with" : "without", name_of(dequantised)));
}

void ModelFiles::find_mxfp4(Dtype dequantised) {
  constexpr std::string_view ending = "_blocks";
  for (const auto& [name, place] : places_) {
    const TensorSpec& stored = files_[place.file]->at(name).spec;
    if (!name.ends_with(ending) || stored.dtype != Dtype::uint8 || stored.shape.size() < 2 ||
        stored.shape.back() != mxfp4_bytes)
      continue;
    const std::string scales = name.substr(0, name.size() - ending.size()) + "_scales";
    Shape groups = stored.shape;
    groups.pop_back();
    D9D_REQUIRE(
        places_.contains(scales) && reader_of(scales).at(scales).spec.dtype == Dtype::uint8 &&
            reader_of(scales).at(scales).spec.shape == groups,
        "{} holds weights of 4 bits (MXFP4) in \"{}\", but not \"{}\" with their scales, U8 {}; download "
        "the folder again, or use the original weights",
        directory_, name, scales, to_text(groups));
    TensorSpec spec = stored;
    spec.dtype = dequantised;
    spec.shape = groups;
    spec.shape.back() *= mxfp4_values;
    mxfp4_.emplace(name, Packed{std::move(spec), scales});
    without_name_.insert(scales);
  }
  if (!mxfp4_.empty())
    notes_.push_back(fmt::format("{} holds {} of 4 bits (MXFP4): they are read as {}", directory_,
                                 counted(mxfp4_.size(), "tensor"), name_of(dequantised)));
}

ModelFiles::Scaled ModelFiles::scaled(const StoredTensor& stored, const Shape& block) const {
  Scaled found{stored.spec, "", {}, stored.float8.value()};
  const std::string& name = stored.spec.name;
  std::vector<std::string> spellings{name + "_scale_inv", name + "_scale"};
  if (const std::string module = module_of(name); !module.empty())
    spellings.insert(spellings.end(), {module + "scale", module + "scale_weight"});
  for (const std::string& scales : spellings) {
    if (!places_.contains(scales)) continue;
    const SafetensorsReader& reader = reader_of(scales);
    const TensorSpec& spec = reader.at(scales).spec;
    D9D_REQUIRE(spec.dtype == Dtype::float32 || spec.dtype == Dtype::bfloat16 || spec.dtype == Dtype::float16,
                "{}: \"{}\" is {}, but scales are read as F32, BF16 or F16; use the original weights",
                reader.path(), scales, safetensors_name(spec.dtype));
    const auto blocks = scale_blocks(stored.spec.shape, spec.shape, block);
    D9D_REQUIRE(blocks,
                "{}: \"{}\" has shape {}, which are no blocks of \"{}\" with {}; say what they are by "
                "quantization_config.weight_block_size in config.json",
                reader.path(), scales, to_text(spec.shape), name, to_text(stored.spec.shape));
    found.scales = scales;
    found.blocks = *blocks;
    break;
  }
  return found;
}

// Whole blocks are read, and of them the columns that the slice wants.
at::Tensor ModelFiles::unpacked(const Packed& packed, const Slice& slice) const {
  const std::int64_t first = slice.begin.back() / mxfp4_values;
  Slice groups = slice;
  groups.begin.back() = first;
  groups.end.back() = (slice.end.back() + mxfp4_values - 1) / mxfp4_values;
  Slice bytes = groups;
  bytes.begin.push_back(0);
  bytes.end.push_back(mxfp4_bytes);
  const std::string& name = packed.spec.name;
  const at::Tensor blocks = reader_of(name).read(name, bytes).contiguous();
  const at::Tensor scales = reader_of(packed.scales).read(packed.scales, groups).contiguous();
  Shape shape = groups.shape();
  shape.back() *= mxfp4_values;
  const at::Tensor values = at::empty(shape, at::kFloat);
  dequantise_mxfp4(blocks.const_data_ptr<std::uint8_t>(), scales.const_data_ptr<std::uint8_t>(),
                   scales.numel(), values.mutable_data_ptr<float>());
  return values.narrow(-1, slice.begin.back() - first * mxfp4_values, slice.end.back() - slice.begin.back())
      .to(scalar_type_of(packed.spec.dtype))
      .contiguous();
}

const TensorSpec& ModelFiles::spec(const std::string& name) const {
  const auto packed = mxfp4_.find(name);
  if (packed != mxfp4_.end()) return packed->second.spec;
  const auto of_8_bits = float8_.find(name);
  return of_8_bits != float8_.end() ? of_8_bits->second.spec : reader_of(name).at(name).spec;
}

at::Tensor ModelFiles::read(const std::string& name, const Slice& slice) const {
  const auto packed = mxfp4_.find(name);
  if (packed != mxfp4_.end()) return unpacked(packed->second, slice);
  const auto of_8_bits = float8_.find(name);
  if (of_8_bits == float8_.end()) return reader_of(name).read(name, slice);
  at::Tensor tensor = at::empty(slice.shape(), at::TensorOptions(scalar_type_of(spec(name).dtype)));
  dequantise_into(of_8_bits->second, slice, static_cast<std::byte*>(tensor.data_ptr()));
  return tensor;
}

void ModelFiles::read_into(const std::string& name, const Slice& slice, std::byte* into) const {
  const auto packed = mxfp4_.find(name);
  if (packed != mxfp4_.end()) {
    const at::Tensor values = unpacked(packed->second, slice);
    if (values.numel() > 0) std::memcpy(into, values.const_data_ptr(), values.nbytes());
    return;
  }
  const auto of_8_bits = float8_.find(name);
  if (of_8_bits == float8_.end()) return reader_of(name).read_into(name, slice, into);
  dequantise_into(of_8_bits->second, slice, into);
}

// The product is one of float32, rounded once where another type is wanted.
void ModelFiles::dequantise_into(const Scaled& scaled, const Slice& slice, std::byte* into) const {
  const TensorSpec& spec = scaled.spec;
  const SafetensorsReader& reader = reader_of(spec.name);
  const auto count = static_cast<std::size_t>(slice.num_elements());
  std::vector<std::uint8_t> values(count);
  reader.read_into(spec.name, slice, reinterpret_cast<std::byte*>(values.data()));
  ScaleBlocks blocks = scaled.blocks;
  at::Tensor scales = at::ones({1}, at::kFloat);
  if (scaled.scales.empty()) {
    blocks = spec.shape;
    for (auto& size : blocks) size = std::max<std::int64_t>(size, 1);
  } else {
    const SafetensorsReader& of_scales = reader_of(scaled.scales);
    const Shape& stored = of_scales.at(scaled.scales).spec.shape;
    Slice box = scales_of(slice, blocks);
    const auto ones = static_cast<std::size_t>(num_elements(stored) == 1 ? stored.size() : 0);
    if (num_elements(stored) == 1)
      box = whole(Shape(ones, 1));
    else
      box = {{box.begin.begin(), box.begin.begin() + std::ssize(stored)},
             {box.end.begin(), box.end.begin() + std::ssize(stored)}};
    scales = of_scales.read(scaled.scales, box, at::kFloat).contiguous();
  }
  at::Tensor made = at::empty({slice.num_elements()}, at::kFloat);
  dequantise(scaled.format, values.data(), scales.const_data_ptr<float>(), slice, blocks,
             made.mutable_data_ptr<float>());
  made = made.to(scalar_type_of(spec.dtype));
  if (made.numel() > 0) std::memcpy(into, made.const_data_ptr(), made.nbytes());  // else it has no place
}

void ModelFiles::add(const std::string& name, std::size_t file) {
  const auto [at, is_new] = places_.emplace(name, Place{file, files_[file]->at(name).offset});
  D9D_REQUIRE(is_new, "{} and {} both hold \"{}\", and the index names neither",
              files_[at->second.file]->path(), files_[file]->path(), name);
}

Names ModelFiles::names() const {
  Names names;
  for (const auto& [name, place] : places_)
    if (!without_name_.contains(name)) names.insert(name);
  return names;
}

std::string ModelFiles::file_of(const std::string& name) const {
  return std::filesystem::path(reader_of(name).path()).filename().string();
}

at::Tensor ModelFiles::shape_only(const std::string& name) const {
  return d9d::shape_only(spec(name));
}

std::vector<const StateGroup*> ModelFiles::in_disk_order(const StateMapper& mapper) const {
  Names missing;
  using Key = std::pair<std::size_t, std::uint64_t>;
  std::vector<std::pair<Key, const StateGroup*>> order;
  for (const auto& group : mapper.groups()) {
    Key first{files_.size(), 0};
    for (const auto& name : group.inputs) {
      const auto place = places_.find(name);
      if (place == places_.end())
        missing.insert(name);
      else
        first = std::min(first, {place->second.file, place->second.offset});
    }
    order.emplace_back(first, &group);
  }
  D9D_REQUIRE(missing.empty(), "{} lacks tensors that the model needs: {}", directory_, to_text(missing));
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const StateGroup*> groups;
  for (const auto& [key, group] : order) groups.push_back(group);
  return groups;
}

const SafetensorsReader& ModelFiles::reader_of(const std::string& name) const {
  const auto place = places_.find(name);
  D9D_REQUIRE(place != places_.end(), "{} holds no tensor \"{}\"", directory_, name);
  return *files_[place->second.file];
}

at::Tensor shape_only(const TensorSpec& spec) {
  return at::empty(spec.shape, at::TensorOptions(scalar_type_of(spec.dtype)).device(at::kMeta));
}

}  // namespace d9d

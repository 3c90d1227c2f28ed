#include "runtime/state/dcp/dcp_metadata.hpp"

#include <map>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/state/dcp/pickle.hpp"
#include "runtime/state/dcp/torch_item.hpp"

namespace d9d {
namespace {

constexpr std::uint64_t metadata_bytes_max = std::uint64_t{1} << 30;
const std::string metadata_module = "torch.distributed.checkpoint.metadata.";

const std::set<std::string>& names_in_metadata() {
  static const std::set<std::string> names = [] {
    std::set<std::string> all{"torch.distributed.checkpoint.filesystem._StorageInfo",
                              "torch.serialization._get_layout",
                              "torch.Size",
                              "collections.OrderedDict",
                              "pathlib.PosixPath",
                              "pathlib._local.PosixPath"};
    for (const char* name :
         {"Metadata", "TensorStorageMetadata", "BytesStorageMetadata", "ChunkStorageMetadata",
          "TensorProperties", "MetadataIndex", "StorageMeta", "_MEM_FORMAT_ENCODING"})
      all.insert(metadata_module + name);
    for (const char* dtype : {"float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8",
                              "uint8", "bool", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"})
      all.insert(std::string("torch.") + dtype);
    return all;
  }();
  return names;
}

class MetadataFile {
 public:
  MetadataFile(const Disk& disk, const std::string& directory)
      : disk_(disk),
        directory_(directory),
        path_(join_path(directory, dcp_metadata_name)),
        pickle_(read_text(disk, path_, metadata_bytes_max), path_, names_in_metadata()) {
    if (!pickle_.root().is_object_of((metadata_module + "Metadata").c_str()))
      pickle_.refuse("it is no metadata of torch.distributed.checkpoint");
    read_places();
  }

  std::vector<DcpValue> values() {
    const PickleValue& described = pickle_.member(pickle_.root(), "state_dict_metadata");
    std::map<std::string, const PickleValue*> by_name;
    for (std::size_t i = 0; i + 1 < described.pairs.size(); i += 2)
      by_name[pickle_.text(*described.pairs[i], "the name of a value")] = described.pairs[i + 1];
    std::vector<DcpValue> found;
    // A state dict whose dicts were not flattened has no paths: then a name is its path.
    if (const PickleValue* paths = pickle_.member_if(pickle_.root(), "planner_data")) {
      for (std::size_t i = 0; i + 1 < paths->pairs.size(); i += 2) {
        const std::string& name = pickle_.text(*paths->pairs[i], "the name of a value");
        const auto known = by_name.find(name);
        if (known == by_name.end()) continue;
        found.push_back(value_of(name, path_of(*paths->pairs[i + 1]), *known->second));
        by_name.erase(known);
      }
    }
    for (const auto& [name, value] : by_name) found.push_back(value_of(name, {name}, *value));
    return found;
  }

 private:
  using Key = std::pair<std::string, std::vector<std::int64_t>>;  // the name, and where the part begins

  void read_places() {
    const PickleValue& stored = pickle_.member(pickle_.root(), "storage_data");
    for (std::size_t i = 0; i + 1 < stored.pairs.size(); i += 2) {
      const PickleValue &index = *stored.pairs[i], &info = *stored.pairs[i + 1];
      const std::string& name = pickle_.text(pickle_.member(index, "fqn"), "the name of a value");
      const PickleValue* begin = pickle_.member_if(index, "offset");
      Key key{name, {}};
      if (begin != nullptr && begin->kind != PickleValue::Kind::none)
        key.second = pickle_.integers(*begin, name + ": where a part begins");
      const PickleValue* changes = pickle_.member_if(info, "transform_descriptors");
      if (changes != nullptr && changes->kind != PickleValue::Kind::none && !changes->items.empty())
        pickle_.refuse(name +
                       " is stored through an extension of torch (compressed or quantised); load the "
                       "checkpoint with torch and save it without extensions");
      places_[key] = {{},
                      pickle_.text(pickle_.member(info, "relative_path"), name + ": its file"),
                      {count_of(info, "offset", name), count_of(info, "length", name)}};
    }
  }

  std::uint64_t count_of(const PickleValue& info, const char* member, const std::string& name) const {
    const std::int64_t count = pickle_.integer(pickle_.member(info, member), name);
    if (count < 0) pickle_.refuse(fmt::format("{}: {} is {}", name, member, count));
    return static_cast<std::uint64_t>(count);
  }

  std::vector<std::string> path_of(const PickleValue& keys) const {
    std::vector<std::string> path;
    for (const PickleValue* key : pickle_.items(keys, "the path of a value"))
      path.push_back(key->kind == PickleValue::Kind::integer ? std::to_string(key->integer)
                                                             : pickle_.text(*key, "a key"));
    return path;
  }

  DcpValue value_of(const std::string& name, std::vector<std::string> path, const PickleValue& described) {
    DcpValue value{name, std::move(path), {}, {}};
    if (described.is_object_of((metadata_module + "BytesStorageMetadata").c_str())) {
      value.parts.push_back(part_of(name, {}));
      return value;
    }
    if (!described.is_object_of((metadata_module + "TensorStorageMetadata").c_str()))
      pickle_.refuse(name + " is neither a tensor nor bytes");
    value.tensor = TensorSpec{name, dtype_in(name, pickle_.member(described, "properties")),
                              pickle_.integers(pickle_.member(described, "size"), name + ": its size")};
    const Shape& shape = value.tensor->shape;
    if (!is_sane(shape, size_of(value.tensor->dtype)))
      pickle_.refuse(fmt::format("{}: an impossible shape {}", name, to_text(shape)));
    std::vector<Slice> slices;
    for (const PickleValue* chunk :
         pickle_.items(pickle_.member(described, "chunks"), name + ": its parts")) {
      const auto begin = pickle_.integers(pickle_.member(*chunk, "offsets"), name + ": where a part begins");
      const auto sizes = pickle_.integers(pickle_.member(*chunk, "sizes"), name + ": the sizes of a part");
      value.parts.push_back(part_of(name, begin));
      value.parts.back().slice = slice_of(name, begin, sizes, shape);
      slices.push_back(value.parts.back().slice);
      const std::int64_t needed = num_elements(sizes) * size_of(value.tensor->dtype);
      if (value.parts.back().bytes.length < static_cast<std::uint64_t>(needed))
        pickle_.refuse(
            fmt::format("{}: a part of {} has {} bytes in {}, and needs {}; save the checkpoint again", name,
                        to_text(sizes), value.parts.back().bytes.length, value.parts.back().file, needed));
    }
    if (const std::string why = why_not_a_tiling(slices, shape); !why.empty())
      pickle_.refuse(
          fmt::format("{} of the shape {}: {}; save the checkpoint again", name, to_text(shape), why));
    return value;
  }

  Dtype dtype_in(const std::string& name, const PickleValue& properties) const {
    // Its state is a tuple: dtype, layout, requires_grad, memory format, pin_memory.
    if (properties.state == nullptr || properties.state->items.empty())
      pickle_.refuse(name + " has no dtype");
    return dtype_of_torch(properties.state->items.front()->text, path_ + ": " + name);
  }

  Slice slice_of(const std::string& name, const std::vector<std::int64_t>& begin,
                 const std::vector<std::int64_t>& sizes, const Shape& shape) const {
    Slice slice = whole(shape);
    bool fits = begin.size() == shape.size() && sizes.size() == shape.size();
    for (std::size_t dim = 0; fits && dim < shape.size(); ++dim) {
      fits = begin[dim] >= 0 && sizes[dim] >= 0 && begin[dim] <= shape[dim] &&
             sizes[dim] <= shape[dim] - begin[dim];
      slice.begin[dim] = begin[dim];
      slice.end[dim] = begin[dim] + sizes[dim];
    }
    if (!fits)
      pickle_.refuse(
          fmt::format("{}: a part of {} at {} is outside of the shape {}; save the checkpoint again", name,
                      to_text(sizes), to_text(begin), to_text(shape)));
    return slice;
  }

  DcpPart part_of(const std::string& name, const std::vector<std::int64_t>& begin) {
    const auto place = places_.find({name, begin});
    if (place == places_.end())
      pickle_.refuse(
          fmt::format("{}: it does not say where the part at {} is stored; save the checkpoint again", name,
                      to_text(begin)));
    const DcpPart& part = place->second;
    const std::uint64_t size = size_of_file(part.file, name);
    if (part.bytes.offset > size || part.bytes.length > size - part.bytes.offset)
      pickle_.refuse(
          fmt::format("{}: bytes {} to {} of {}, which has only {}; the file is cut: copy it again", name,
                      part.bytes.offset, part.bytes.offset + part.bytes.length, part.file, size));
    return part;
  }

  std::uint64_t size_of_file(const std::string& file, const std::string& name) {
    if (const auto known = sizes_.find(file); known != sizes_.end()) return known->second;
    if (file.find('/') != std::string::npos || !disk_.exists(join_path(directory_, file)))
      pickle_.refuse(
          fmt::format("{} is in {}, which is not in {}; copy the files of all ranks into this folder", name,
                      file, directory_));
    return sizes_[file] = disk_.open(join_path(directory_, file))->size();
  }

  const Disk& disk_;
  const std::string& directory_;
  const std::string path_;
  const Pickle pickle_;
  std::map<Key, DcpPart> places_;
  std::map<std::string, std::uint64_t> sizes_;  // of files, in bytes
};

}  // namespace

std::vector<DcpValue> read_dcp_metadata(const Disk& disk, const std::string& directory) {
  D9D_REQUIRE(
      disk.exists(join_path(directory, dcp_metadata_name)),
      "{} has no file {}: give a folder that torch.distributed.checkpoint wrote, such as save-1000 of the "
      "original",
      directory, dcp_metadata_name);
  return MetadataFile(disk, directory).values();
}

}  // namespace d9d

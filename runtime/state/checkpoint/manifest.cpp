#include "runtime/state/checkpoint/manifest.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/state/disk/checksum.hpp"

namespace d9d {
namespace {

using Json = nlohmann::json;

constexpr std::uint64_t manifest_bytes_max = 1'000'000'000;
const std::string seal_begin = "{\"manifest_xxh3\":\"";
const std::string seal_end = "\",\n";

Json json_of(const ManifestFile& file) {
  return {{"name", file.name}, {"bytes", file.bytes}, {"xxh3", hex_of(file.checksum)}};
}

Json json_of(const ManifestEntry& entry) {
  return {{"kind", entry.kind},
          {"name", entry.name},
          {"shape", entry.global_shape},
          {"slice", to_text(entry.slice)},
          {"dtype", safetensors_name(entry.dtype)},
          {"file", entry.file},
          {"xxh3", hex_of(entry.checksum)}};
}

Json list_of(const auto& items) {
  Json list = Json::array();
  for (const auto& item : items) list.push_back(json_of(item));
  return list;
}

// The name becomes part of a path, so it must not lead out of the folder.
std::string file_name_from(const Json& value) {
  const auto name = value.get<std::string>();
  D9D_REQUIRE(!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
                  name.find('\0') == std::string::npos,
              "\"{}\" is not a file name", name);
  return name;
}

ManifestFile file_from(const Json& json) {
  return {file_name_from(json.at("name")), json.at("bytes").get<std::uint64_t>(),
          checksum_from(json.at("xxh3").get<std::string>())};
}

// Text to value, and whether such a tensor can be.
ManifestEntry checked_entry(const Json& kind, const Json& name, const Json& shape, const Json& slice,
                            const Json& dtype, const std::string& file, const Json& checksum) {
  ManifestEntry entry;
  entry.kind = kind.get<std::string>();
  entry.name = name.get<std::string>();
  entry.global_shape = shape.get<Shape>();
  entry.slice = slice_from_text(slice.get<std::string>());
  const auto known = dtype_of_safetensors(dtype.get<std::string>());
  D9D_REQUIRE(known.has_value(), "tensor \"{}\": unknown dtype {}", entry.name, json_text(dtype));
  entry.dtype = *known;
  entry.file = file;
  entry.checksum = checksum_from(checksum.get<std::string>());
  D9D_REQUIRE(is_sane(entry.global_shape, size_of(entry.dtype)), "tensor \"{}\": shape {} is impossible",
              entry.name, to_text(entry.global_shape));
  require_inside(entry.slice, entry.global_shape, "tensor \"" + entry.tensor_name() + "\"");
  return entry;
}

ManifestEntry entry_from(const Json& json) {
  return checked_entry(json.at("kind"), json.at("name"), json.at("shape"), json.at("slice"), json.at("dtype"),
                       file_name_from(json.at("file")), json.at("xxh3"));
}

template <class Item>
std::vector<Item> items_from(const Json& list, Item (*from)(const Json&)) {
  std::vector<Item> items;
  for (const auto& json : list) items.push_back(from(json));
  return items;
}

Manifest manifest_from(const Json& json) {
  const auto format = json.at("format").get<std::uint32_t>();
  D9D_REQUIRE(format == manifest_format, "it has format {}, this program reads format {}", format,
              manifest_format);
  Manifest manifest;
  manifest.step = json.at("step").get<std::uint64_t>();
  manifest.data_cursor = json.at("data_cursor").get<std::uint64_t>();
  manifest.seed = json.at("seed").get<std::uint64_t>();
  manifest.epoch = json.at("epoch").get<std::uint64_t>();
  manifest.job_hash = json.at("job_hash").get<std::string>();
  manifest.extra = json_text(json.at("extra"));
  manifest.files = items_from(json.at("files"), file_from);
  manifest.entries = items_from(json.at("tensors"), entry_from);
  return manifest;
}

// Errors of the parser and of our own checks as one sentence that begins with the place.
template <class Read>
auto reading(const std::string& place, Read&& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(ErrorKind::input, error.what(), place);
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::input, error.what(), place);
  }
}

}  // namespace

std::string ManifestEntry::tensor_name() const {
  return kind + "/" + name + "@" + to_text(slice);
}

void require_complete(const Manifest& manifest) {
  std::map<std::string, std::vector<const ManifestEntry*>> tensors;
  for (const auto& entry : manifest.entries) tensors[entry.kind + "/" + entry.name].push_back(&entry);
  for (const auto& [name, parts] : tensors) {
    std::vector<Slice> slices;
    for (const auto* part : parts) {
      D9D_REQUIRE(part->global_shape == parts[0]->global_shape && part->dtype == parts[0]->dtype,
                  "checkpoint tensor \"{}\": {} in {} is {} {}, in {} it is {} {}", name,
                  to_text(part->slice), part->file, safetensors_name(part->dtype),
                  to_text(part->global_shape), parts[0]->file, safetensors_name(parts[0]->dtype),
                  to_text(parts[0]->global_shape));
      slices.push_back(part->slice);
    }
    const auto problem = why_not_a_tiling(slices, parts[0]->global_shape);
    D9D_REQUIRE(problem.empty(), "checkpoint tensor \"{}\": {}", name, problem);
  }
}

Manifest with_reports(Manifest manifest, const std::vector<ShardReport>& reports) {
  for (const auto& report : reports) {
    manifest.files.push_back(report.file);
    manifest.entries.insert(manifest.entries.end(), report.entries.begin(), report.entries.end());
  }
  std::set<std::string> names;
  for (const auto& file : manifest.files)
    D9D_REQUIRE(names.insert(file.name).second, "two writers of a checkpoint call their shard {}", file.name);
  require_complete(manifest);
  return manifest;
}

std::string to_json(const Manifest& manifest) {
  const Json extra =
      reading("extra state of the checkpoint", [&] { return parse_json<Json>(manifest.extra); });
  D9D_REQUIRE(extra.is_object(), "extra state of the checkpoint is not a JSON object");
  const Json json = {{"format", manifest_format},
                     {"step", manifest.step},
                     {"data_cursor", manifest.data_cursor},
                     {"seed", manifest.seed},
                     {"epoch", manifest.epoch},
                     {"job_hash", manifest.job_hash},
                     {"extra", extra},
                     {"files", list_of(manifest.files)},
                     {"tensors", list_of(manifest.entries)}};
  const std::string body = json_text(json).substr(1) + "\n";
  return seal_begin + hex_of(checksum_of(body)) + seal_end + body;
}

Manifest manifest_from_json(const std::string& text, const std::string& path) {
  return reading(path, [&] {
    const auto body_begin = seal_begin.size() + 16 + seal_end.size();
    D9D_REQUIRE(text.starts_with(seal_begin) && text.size() > body_begin,
                "it does not begin like a manifest");
    const auto stated = checksum_from(std::string_view(text).substr(seal_begin.size(), 16));
    const auto found = checksum_of(std::string_view(text).substr(body_begin));
    D9D_REQUIRE(stated == found, "checksum mismatch: stated {}, found {}", hex_of(stated), hex_of(found));
    return manifest_from(parse_json<Json>(text));
  });
}

// {"file": .., "places": [[name, shape, slice], ..], "tensors": [[kind, place, dtype, checksum], ..]}: a
// report is one message, and parameter and moments of an optimizer share their place.
std::string to_json(const ShardReport& report) {
  Json places = Json::array(), tensors = Json::array();
  std::map<std::tuple<std::string, Shape, std::string>, std::size_t> known;
  for (const auto& entry : report.entries) {
    D9D_CHECK(entry.file == report.file.name, "the report of {} has a tensor in {}", report.file.name,
              entry.file);
    const std::string slice = to_text(entry.slice);
    const auto [at, is_new] = known.emplace(std::tuple(entry.name, entry.global_shape, slice), places.size());
    if (is_new) places.push_back({entry.name, entry.global_shape, slice});
    tensors.push_back({entry.kind, at->second, safetensors_name(entry.dtype), hex_of(entry.checksum)});
  }
  return json_text(Json{{"file", json_of(report.file)}, {"places", places}, {"tensors", tensors}});
}

ShardReport shard_report_from_json(const std::string& text) {
  return reading("shard report", [&] {
    const Json json = parse_json<Json>(text);
    ShardReport report{file_from(json.at("file")), {}};
    const Json& places = json.at("places");
    for (const Json& tensor : json.at("tensors")) {
      const Json& place = places.at(tensor.at(1).get<std::size_t>());
      report.entries.push_back(checked_entry(tensor.at(0), place.at(0), place.at(1), place.at(2),
                                             tensor.at(2), report.file.name, tensor.at(3)));
    }
    return report;
  });
}

Manifest read_manifest(const Disk& disk, const std::string& directory) {
  const auto path = join_path(directory, manifest_name);
  return manifest_from_json(read_text(disk, path, manifest_bytes_max), path);
}

}  // namespace d9d

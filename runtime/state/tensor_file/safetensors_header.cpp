#include "runtime/state/tensor_file/safetensors_header.hpp"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/state/weights/foreign_bytes.hpp"

namespace d9d {
namespace {

using Json = nlohmann::json;

constexpr int depth_max = 3;  // object, tensor, list
constexpr auto int64_max = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// The library keeps the last of two equal keys and has no limit of depth: both are refused while parsing.
Json parse_strictly(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> seen;
  const auto watch = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start || event == Json::parse_event_t::array_start) {
      D9D_REQUIRE(depth < depth_max, "{}: the safetensors header is nested deeper than {} levels", file,
                  depth_max);
      seen.emplace_back();
    } else if (event == Json::parse_event_t::object_end || event == Json::parse_event_t::array_end) {
      seen.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const bool is_new = seen.back().insert(parsed.get<std::string>()).second;
      D9D_REQUIRE(is_new, "{}: the safetensors header has \"{}\" twice", file, parsed.get<std::string>());
    }
    return true;
  };
  try {
    return Json::parse(text, watch);
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::input,
                fmt::format("{}: the safetensors header is not JSON: {}", file, error.what()));
  }
}

std::uint64_t unsigned_from(const Json& value, const std::string& file, const std::string& name,
                            const char* what) {
  D9D_REQUIRE(value.is_number_unsigned(), "{}: tensor \"{}\": {} holds {}; expected a non-negative integer",
              file, name, what, shown_json(value).substr(0, 80));
  return value.get<std::uint64_t>();
}

std::optional<Float8Format> float8_named(std::string_view dtype) {
  if (dtype == "F8_E4M3") return Float8Format::e4m3;
  if (dtype == "F8_E5M2") return Float8Format::e5m2;
  return std::nullopt;
}

// Types that quantisers use; for others nothing.
std::string_view reason_against(std::string_view dtype) {
  if (dtype == "U32") return ": weights packed by a quantiser, such as MLX's; use the original weights";
  if (float8_named(dtype)) return ": weights of 8 bits, which only the folder of a model may hold";
  if (dtype.starts_with("F4") || dtype.starts_with("F6") || dtype.starts_with("F8"))
    return ": quantised weights; use the original ones, or those in F8_E4M3 or F8_E5M2";
  return "";
}

TensorSpec parse_spec(const std::string& name, const Json& entry, const std::string& file, Float8 float8) {
  D9D_REQUIRE(entry.is_object() && entry.size() == 3 && entry.contains("dtype") && entry.contains("shape") &&
                  entry.contains("data_offsets"),
              "{}: tensor \"{}\": expected an object with dtype, shape and data_offsets and nothing else",
              file, name);
  TensorSpec spec;
  spec.name = name;
  const Json& dtype = entry["dtype"];
  const std::string given = dtype.is_string() ? dtype.get<std::string>() : "";
  const bool is_float8 = float8_named(given) && float8 == Float8::allowed;
  const auto known = is_float8 ? Dtype::uint8 : dtype_of_safetensors(given);
  D9D_REQUIRE(known.has_value(),
              "{}: tensor \"{}\": dtype {} is not one of F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL{}", file,
              name, shown_json(dtype).substr(0, 80), reason_against(given));
  spec.dtype = *known;
  const Json& shape = entry["shape"];
  D9D_REQUIRE(shape.is_array(), "{}: tensor \"{}\": shape is not a list", file, name);
  for (const auto& size : shape) {
    const auto value = unsigned_from(size, file, name, "shape");
    D9D_REQUIRE(value <= int64_max, "{}: tensor \"{}\": size {} is too large", file, name, value);
    spec.shape.push_back(static_cast<std::int64_t>(value));
  }
  return spec;
}

StoredTensor parse_tensor(const std::string& name, const Json& entry, std::uint64_t data_begin,
                          std::uint64_t data_bytes, const std::string& file, Float8 float8) {
  StoredTensor stored{parse_spec(name, entry, file, float8), 0};
  stored.float8 = float8_named(entry["dtype"].get<std::string>());
  const Json& offsets = entry["data_offsets"];
  D9D_REQUIRE(offsets.is_array() && offsets.size() == 2,
              "{}: tensor \"{}\": data_offsets is not [begin, end]", file, name);
  const auto begin = unsigned_from(offsets[0], file, name, "data_offsets");
  const auto end = unsigned_from(offsets[1], file, name, "data_offsets");
  D9D_REQUIRE(begin <= end && end <= data_bytes,
              "{}: tensor \"{}\": offsets {}..{} are not inside the {} bytes of data that the file has", file,
              name, begin, end, data_bytes);
  D9D_REQUIRE(is_sane(stored.spec.shape, size_of(stored.spec.dtype)),
              "{}: tensor \"{}\": shape {} is too large", file, name, to_text(stored.spec.shape));
  const auto bytes = stored.spec.bytes();
  D9D_REQUIRE(end - begin == bytes, "{}: tensor \"{}\": offsets {}..{} hold {} bytes, but {} of {} needs {}",
              file, name, begin, end, end - begin, to_text(stored.spec.shape),
              safetensors_name(stored.spec.dtype), bytes);
  stored.offset = data_begin + begin;
  return stored;
}

void require_without_gaps(const SafetensorsHeader& header, std::uint64_t data_begin, std::uint64_t file_bytes,
                          const std::string& file) {
  std::vector<const StoredTensor*> order;
  for (const auto& [name, stored] : header.tensors) order.push_back(&stored);
  // An empty tensor begins where its successor begins, so the end decides among equal offsets.
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->offset, a->offset + a->spec.bytes()) <
           std::pair(b->offset, b->offset + b->spec.bytes());
  });
  std::uint64_t at = data_begin;
  for (const auto* stored : order) {
    D9D_REQUIRE(stored->offset == at, "{}: tensor \"{}\" starts at data byte {}, expected {}: tensors {}",
                file, stored->spec.name, stored->offset - data_begin, at - data_begin,
                stored->offset < at ? "overlap" : "leave a gap");
    at += stored->spec.bytes();
  }
  D9D_REQUIRE(at == file_bytes, "{}: the tensors end at byte {}, the file at {}", file, at, file_bytes);
}

// Where the last tensor ends, in the data; 0 for entries that parse_tensor() will refuse.
std::uint64_t end_of_tensors(const Json& root) {
  std::uint64_t end = 0;
  for (const auto& entry : root) {
    const auto offsets = entry.is_object() ? entry.find("data_offsets") : entry.end();
    if (!entry.is_object() || offsets == entry.end() || !offsets->is_array() || offsets->size() != 2)
      continue;
    if (const Json& last = (*offsets)[1]; last.is_number_unsigned())
      end = std::max(end, last.get<std::uint64_t>());
  }
  return end;
}

// The same reason for every tensor that is not there, so it is told once.
void require_whole(const Json& root, std::uint64_t data_bytes, const std::string& file) {
  const std::uint64_t end = end_of_tensors(root);
  D9D_REQUIRE(end <= data_bytes,
              "{}: its tensors need {} bytes of data, the offsets are not inside the {} bytes of data that "
              "the file has: it was cut short; download or copy it again",
              file, end, data_bytes);
}

std::string head_of(const ReadFile& file) {
  std::string head(std::min<std::uint64_t>(file.size(), foreign_bytes_read), '\0');
  file.read(0, head.data(), head.size());
  return head;
}

}  // namespace

SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t file_bytes,
                                           const std::string& file, Float8 float8) {
  const std::uint64_t data_begin = 8 + json.size();
  D9D_REQUIRE(data_begin <= file_bytes, "{}: the header needs {} bytes, the file has {}", file, data_begin,
              file_bytes);
  const Json root = parse_strictly(json, file);
  D9D_REQUIRE(root.is_object(), "{}: the safetensors header is not a JSON object", file);
  require_whole(root, file_bytes - data_begin, file);
  SafetensorsHeader header;
  for (const auto& [name, entry] : root.items()) {
    if (name == "__metadata__") {
      D9D_REQUIRE(entry.is_object(), "{}: __metadata__ is not an object of texts", file);
      for (const auto& [key, value] : entry.items()) {
        D9D_REQUIRE(value.is_string(), "{}: __metadata__.{} is not a text", file, key);
        header.metadata[key] = value.get<std::string>();
      }
      continue;
    }
    header.tensors.emplace(name,
                           parse_tensor(name, entry, data_begin, file_bytes - data_begin, file, float8));
  }
  require_without_gaps(header, data_begin, file_bytes, file);
  return header;
}

SafetensorsHeader read_safetensors_header(const ReadFile& file, Float8 float8) {
  D9D_REQUIRE(file.size() >= 8, "{} has {} bytes; a safetensors file has at least 8: download it again",
              file.path(), file.size());
  unsigned char length[8];
  file.read(0, length, sizeof length);
  std::uint64_t bytes = 0;
  for (int i = 7; i >= 0; --i) bytes = bytes << 8 | length[i];
  if (bytes == 0 || bytes > safetensors_header_bytes_max || bytes > file.size() - 8) {
    const std::string foreign = foreign_bytes(head_of(file));
    D9D_REQUIRE(foreign.empty(), "{} is no safetensors file: it {}", file.path(), foreign);
  }
  D9D_REQUIRE(bytes <= safetensors_header_bytes_max && bytes <= file.size() - 8,
              "{}: its header claims {} bytes, but the file has {} and a header at most {}; is it a "
              "safetensors file?",
              file.path(), bytes, file.size(), safetensors_header_bytes_max);
  std::string json(bytes, '\0');
  file.read(8, json.data(), json.size());
  return parse_safetensors_header(json, file.size(), file.path(), float8);
}

std::string make_safetensors_header(const std::vector<TensorSpec>& tensors,
                                    const std::map<std::string, std::string>& metadata) {
  std::string json = metadata.empty() ? "{" : "{\"__metadata__\":" + json_text(Json(metadata));
  std::set<std::string_view> names;
  std::uint64_t at = 0;
  for (const auto& spec : tensors) {
    D9D_REQUIRE(spec.name != "__metadata__", "a tensor of a safetensors file cannot be called __metadata__");
    D9D_REQUIRE(names.insert(spec.name).second, "tensor \"{}\" is given twice", spec.name);
    const std::uint64_t end = at + spec.bytes();
    json += fmt::format(R"({}{}:{{"dtype":"{}","shape":{},"data_offsets":[{},{}]}})",
                        json.size() > 1 ? "," : "", json_text(Json(spec.name)), safetensors_name(spec.dtype),
                        json_text(Json(spec.shape)), at, end);
    at = end;
  }
  json += '}';
  while (json.size() % 8 != 0) json += ' ';
  D9D_REQUIRE(json.size() <= safetensors_header_bytes_max,
              "{} tensors need a header of {} bytes; at most {} are allowed", tensors.size(), json.size(),
              safetensors_header_bytes_max);
  std::string head(8, '\0');
  for (int i = 0; i < 8; ++i)
    head[static_cast<std::size_t>(i)] = static_cast<char>((json.size() >> (8 * i)) & 0xff);
  return head + json;
}

}  // namespace d9d

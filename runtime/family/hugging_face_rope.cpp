#include "runtime/family/hugging_face_rope.hpp"

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using nlohmann::json;
using Type = RopeOptions::Type;

constexpr std::array<std::pair<const char*, Type>, 7> known_types = {{{"default", Type::plain},
                                                                      {"linear", Type::linear},
                                                                      {"ntk", Type::ntk},
                                                                      {"dynamic", Type::dynamic},
                                                                      {"yarn", Type::yarn},
                                                                      {"llama3", Type::llama3},
                                                                      {"longrope", Type::longrope}}};

Type type_from(const std::string& text, const std::string& where) {
  for (const auto& [name, type] : known_types) {
    if (text == name) return type;
  }
  throw Error(
      ErrorKind::input,
      fmt::format("{}: rope_type is '{}', supported are default, linear, ntk, dynamic, yarn, llama3 and "
                  "longrope; set rope_type to default to use the model without it",
                  where, text));
}

const char* name_of(Type type) {
  for (const auto& [name, known] : known_types) {
    if (known == type) return name;
  }
  return "default";
}

void refuse_partial(const JsonReader& rope, const JsonReader& outside) {
  for (const JsonReader* in : {&rope, &outside}) {
    const double share = in->number("partial_rotary_factor", 1.0);
    D9D_REQUIRE(share == 1.0, "{}: partial_rotary_factor is {}, only 1.0 is supported", in->where(), share);
  }
}

void refuse_layered(const JsonReader& rope) {
  for (const char* layered : {"full_attention", "sliding_attention"}) {
    D9D_REQUIRE(!rope.has(layered), "{}: rope_parameters differ by layer type ({}), which is not supported",
                rope.where(), layered);
  }
}

bool has_original_length(Type type) {
  return type == Type::yarn || type == Type::llama3 || type == Type::longrope;
}

// An original length beside the RoPE settings wins over the one among them, as in transformers.
std::int64_t read_original_length(const JsonReader& in, const JsonReader& outside, std::int64_t longest) {
  constexpr const char* key = "original_max_position_embeddings";
  const std::int64_t length = outside.integer(key, in.integer(key, longest));
  D9D_REQUIRE(length > 0, "{}: original_max_position_embeddings of RoPE is {}, expected an integer above 0",
              in.where(), length);
  return length;
}

// transformers writes `given or otherwise`.
double unless_zero(double given, double otherwise) {
  return given == 0 ? otherwise : given;
}

void read_bounds(const JsonReader& in, RopeOptions& rope) {
  if (rope.type == Type::yarn) {
    rope.mscale = in.number_or_none("mscale");
    rope.mscale_all_dim = in.number_or_none("mscale_all_dim");
    rope.beta_fast = unless_zero(in.number("beta_fast", 0.0), 32.0);
    rope.beta_slow = unless_zero(in.number("beta_slow", 0.0), 1.0);
    rope.truncate = in.flag("truncate", true);
  }
  if (rope.type == Type::llama3) {
    rope.low_freq_factor = in.number("low_freq_factor", 1.0);
    rope.high_freq_factor = in.number("high_freq_factor", 4.0);
  }
  if (rope.type == Type::longrope) {
    rope.short_factor = in.numbers("short_factor");
    rope.long_factor = in.numbers("long_factor");
  }
}

// `longest`: the model's max_position_embeddings.
void read_scaling(const JsonReader& in, const JsonReader& outside, std::int64_t longest, RopeOptions& rope) {
  const bool optional_factor = rope.type == Type::yarn || rope.type == Type::longrope;
  const auto factor = in.number_or_none("factor");
  D9D_REQUIRE(factor || optional_factor, "{}: rope_type {} needs `factor`", in.where(), name_of(rope.type));
  rope.original_max_position_embeddings =
      has_original_length(rope.type) ? read_original_length(in, outside, longest) : longest;
  rope.factor =
      factor ? *factor
             : static_cast<double>(longest) / static_cast<double>(rope.original_max_position_embeddings);
  if (optional_factor) rope.attention_factor = in.number_or_none("attention_factor");
  read_bounds(in, rope);
}

void write_scaling(const RopeOptions& rope, json& out) {
  out["factor"] = rope.factor;
  if (has_original_length(rope.type)) {
    out["original_max_position_embeddings"] = rope.original_max_position_embeddings;
  }
  if (rope.attention_factor) out["attention_factor"] = *rope.attention_factor;
  if (rope.type == Type::longrope) {
    out["short_factor"] = rope.short_factor;
    out["long_factor"] = rope.long_factor;
  }
  if (rope.type == Type::yarn) {
    out["beta_fast"] = rope.beta_fast;
    out["beta_slow"] = rope.beta_slow;
    out["truncate"] = rope.truncate;
    if (rope.mscale) out["mscale"] = *rope.mscale;
    if (rope.mscale_all_dim) out["mscale_all_dim"] = *rope.mscale_all_dim;
  }
  if (rope.type == Type::llama3) {
    out["low_freq_factor"] = rope.low_freq_factor;
    out["high_freq_factor"] = rope.high_freq_factor;
  }
}

const json& settings_of(const JsonReader& in) {
  static const json none = json::object();
  const json* given = in.find("rope_scaling");
  if (given == nullptr || given->empty()) given = in.find("rope_parameters");
  if (given == nullptr) given = &none;
  D9D_REQUIRE(given->is_object(), "{}: rope_parameters is {}, expected an object", in.where(), given->dump());
  return *given;
}

}  // namespace

bool has_rope_settings(const JsonReader& in) {
  return !settings_of(in).empty();
}

RopeOptions read_rope(const JsonReader& in, std::int64_t max_position_embeddings, double absent_theta,
                      PartialRotary partial) {
  const JsonReader rope_in(settings_of(in), in.where());
  if (partial == PartialRotary::refused) refuse_partial(rope_in, in);
  refuse_layered(rope_in);

  RopeOptions rope;
  rope.theta = rope_in.number("rope_theta", in.number("rope_theta", absent_theta));
  rope.type = type_from(rope_in.text("rope_type", rope_in.text("type", "default")), in.where());
  if (rope.type != Type::plain) read_scaling(rope_in, in, max_position_embeddings, rope);
  return rope;
}

void flatten_rope(json& config) {
  const auto layered = config.find("rope_parameters");
  if (layered == config.end() || !layered->is_object()) return;
  json full = layered->value("full_attention", json()), sliding = layered->value("sliding_attention", json());
  if (!full.is_object() && !sliding.is_object()) return;
  for (json* const settings : {&full, &sliding}) {
    if (settings->is_null()) *settings = json::object();
    if (!settings->is_object()) return;
  }
  if (sliding.value("rope_type", json("default")) != "default") return;
  if (sliding.contains("rope_theta")) config["rope_local_base_freq"] = sliding["rope_theta"];
  if (full.contains("rope_theta")) config["rope_theta"] = full["rope_theta"];
  full.erase("rope_theta");
  config["rope_parameters"] = std::move(full);
}

double read_rotary_share(const JsonReader& in, double absent) {
  constexpr const char* key = "partial_rotary_factor";
  return JsonReader(settings_of(in), in.where()).number(key, in.number(key, absent));
}

void write_rotary_share(double share, json& out) {
  for (json* const settings : {&out, &out["rope_parameters"], &out["rope_scaling"]}) {
    if (settings->is_object()) (*settings)["partial_rotary_factor"] = share;
  }
}

void write_rope(const RopeOptions& given, std::int64_t head_dim, json& out) {
  RopeOptions rope = given;
  if (given.type == Type::ntk)
    rope = {.theta = given.stretched_theta(given.factor, head_dim), .interleaved = given.interleaved};
  json parameters = {{"rope_type", name_of(rope.type)}};
  if (rope.type != Type::plain) write_scaling(rope, parameters);
  out["rope_scaling"] = rope.type == Type::plain ? json(nullptr) : parameters;
  parameters["rope_theta"] = rope.theta;
  out["rope_parameters"] = parameters;
  out["rope_theta"] = rope.theta;
}

namespace {

void validate_factors(const char* name, const std::vector<double>& factors, std::int64_t head_dim,
                      const std::string& where) {
  D9D_REQUIRE(static_cast<std::int64_t>(factors.size()) == head_dim / 2,
              "{}: RoPE {} has {}, expected {}, half of head_dim", where, name,
              counted(static_cast<std::int64_t>(factors.size()), "number"), head_dim / 2);
  for (const double factor : factors) {
    D9D_REQUIRE(factor > 0, "{}: RoPE {} holds {}, expected numbers above 0", where, name, factor);
  }
}

}  // namespace

void validate_rope(const RopeOptions& rope, std::int64_t head_dim, const std::string& where) {
  D9D_REQUIRE(rope.theta > 1.0, "{}: rope_theta is {}, expected a number above 1", where, rope.theta);
  D9D_REQUIRE(rope.factor > 0 && std::isfinite(rope.factor),
              "{}: the RoPE factor is {}, expected a number above 0", where, rope.factor);
  D9D_REQUIRE(rope.type != Type::ntk || head_dim > 2,
              "{}: rope_type ntk needs heads that turn in more than 2 dimensions, but they turn in {}", where,
              head_dim);
  const bool needs_original = has_original_length(rope.type) || rope.type == Type::dynamic;
  D9D_REQUIRE(
      !needs_original || rope.original_max_position_embeddings > 0,
      "{}: original_max_position_embeddings of RoPE is {}, expected the length the model was pretrained with",
      where, rope.original_max_position_embeddings);
  D9D_REQUIRE(rope.type != Type::yarn || rope.beta_fast >= rope.beta_slow,
              "{}: RoPE beta_fast is {} and beta_slow {}; beta_fast must not be the smaller one", where,
              rope.beta_fast, rope.beta_slow);
  D9D_REQUIRE(
      rope.type != Type::llama3 || rope.high_freq_factor >= rope.low_freq_factor,
      "{}: RoPE high_freq_factor is {} and low_freq_factor {}; high_freq_factor must not be the smaller one",
      where, rope.high_freq_factor, rope.low_freq_factor);
  if (rope.type != Type::longrope) return;
  validate_factors("short_factor", rope.short_factor, head_dim, where);
  validate_factors("long_factor", rope.long_factor, head_dim, where);
}

}  // namespace d9d

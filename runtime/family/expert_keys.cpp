#include "runtime/family/expert_keys.hpp"

#include "runtime/base/error.hpp"

namespace d9d {
namespace {

using nlohmann::json;

std::int64_t read_shared_width(const JsonReader& in, const SparseDecoder& model) {
  const char* const key = "shared_expert_intermediate_size";
  const std::int64_t width = in.integer(key, model.shared_expert_intermediate_size);
  D9D_REQUIRE(width > 0, "{}: {} is {}, expected an integer above 0", in.where(), key, width);
  return width;
}

void read_balance(const JsonReader& in, FamilyModel& model) {
  const double weight = in.number("router_aux_loss_coef", 0.001);
  D9D_REQUIRE(weight >= 0.0, "{}: router_aux_loss_coef is {}, expected 0 or more", in.where(), weight);
  static_cast<SparseDecoder&>(model).router_aux_loss_coef =
      in.flag("output_router_logits", false) ? weight : 0.0;
}

void write_balance(const FamilyModel& model, json& out) {
  const double weight = static_cast<const SparseDecoder&>(model).router_aux_loss_coef;
  out["output_router_logits"] = weight != 0;
  if (weight != 0) out["router_aux_loss_coef"] = weight;
}

void read_z_loss(const JsonReader& in, FamilyModel& model) {
  const double weight = in.number("router_z_loss_coef", 0.0);
  D9D_REQUIRE(weight >= 0.0, "{}: router_z_loss_coef is {}, expected 0 or more", in.where(), weight);
  static_cast<SparseDecoder&>(model).router_z_loss_coef = weight;
}

void write_z_loss(const FamilyModel& model, json& out) {
  const double weight = static_cast<const SparseDecoder&>(model).router_z_loss_coef;
  if (weight != 0) out["router_z_loss_coef"] = weight;
}

std::int64_t read_local_experts(const JsonReader& in, const SparseDecoder& model) {
  const std::int64_t experts = read_two_names(in, model);
  D9D_REQUIRE(experts > 0, "{}: num_local_experts is {}, expected an integer above 0", in.where(), experts);
  return experts;
}

ModelKeys all_expert_keys() {
  using namespace config;
  return {
      member(
          {"moe_intermediate_size", "", "width of an expert; required without `from`", optional, at_least(1)},
          &SparseDecoder::moe_intermediate_size),
      member({"shared_expert_intermediate_size", "",
              "width of the expert that every token visits; required without `from`", optional, at_least(1)},
             &SparseDecoder::shared_expert_intermediate_size, read_shared_width),
      member({"num_experts", "", "experts of a layer; required without `from`, here or as num_local_experts",
              optional, at_least(0)},
             &SparseDecoder::num_experts),
      {{"num_local_experts", "", "another name of num_experts", optional, at_least(0)}, &integer_key},
      member({"num_experts_per_tok", "", "experts that each token visits; required without `from`", optional,
              at_least(1)},
             &SparseDecoder::num_experts_per_tok),
      member({"norm_topk_prob", "", "divide the chosen probabilities by their sum; null: false"},
             &SparseDecoder::norm_topk_prob),
      member({"decoder_sparse_step", "layers", "every so many-th layer has experts; null: 1", optional,
              at_least(1)},
             &SparseDecoder::decoder_sparse_step),
      member({"mlp_only_layers", "", "layers (from 0) that are dense whatever the step; null: none", optional,
              at_least(0)},
             &SparseDecoder::mlp_only_layers),
      {.key = {"output_router_logits", "",
               "whether the load balancing loss is added to the training loss; null: false"},
       .read = read_balance,
       .write = write_balance},
      {{"router_aux_loss_coef", "", "weight of that loss, where output_router_logits is true; null: 0.001"}},
      {.key = {"router_z_loss_coef", "",
               "weight of the routers' z-loss in the training loss; not of transformers", optional,
               at_least(0)},
       .type = &number_key,
       .read = read_z_loss,
       .write = write_z_loss}};
}

}  // namespace

ModelKeys expert_keys(std::initializer_list<std::string_view> names) {
  ModelKeys all = all_expert_keys(), chosen;
  for (const std::string_view name : names) chosen.push_back(row(all, name));
  return chosen;
}

std::int64_t read_two_names(const JsonReader& in, const SparseDecoder& model) {
  const std::int64_t other = in.integer("num_local_experts", model.num_experts);
  const std::int64_t experts = in.integer("num_experts", other);
  D9D_REQUIRE(in.find("num_local_experts") == nullptr || experts == other,
              "{}: num_experts is {} and num_local_experts {}; they mean the same, keep one", in.where(),
              experts, other);
  return experts;
}

void set_local_experts(ModelKeys& keys) {
  row(keys, "num_experts") = {row(keys, "num_experts").key, &integer_key};
  row(keys, "num_local_experts") =
      member(row(keys, "num_local_experts").key, &SparseDecoder::num_experts, read_local_experts);
}

std::vector<std::string> required_with_local_experts(const json& keys) {
  return {"hidden_size",         "num_hidden_layers",
          "num_attention_heads", "num_key_value_heads",
          "vocab_size",          "intermediate_size",
          "num_experts_per_tok", keys.contains("num_experts") ? "num_experts" : "num_local_experts"};
}

void drop_other_name_of_experts(json& base, const json& keys) {
  if (keys.contains("num_experts")) base.erase("num_local_experts");
  if (keys.contains("num_local_experts")) base.erase("num_experts");
}

}  // namespace d9d

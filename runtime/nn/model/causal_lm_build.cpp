// The constructor of a stage of a causal language model: makes the parts that this stage has.
#include <algorithm>

#include "runtime/base/error.hpp"
#include "runtime/nn/block/pooled_heads.hpp"
#include "runtime/nn/model/causal_lm.hpp"
#include "runtime/nn/shard/placing.hpp"
#include "runtime/tensor/tied.hpp"

namespace d9d {
namespace {

void check_dtype(at::ScalarType dtype) {
  D9D_REQUIRE(dtype == at::kFloat || dtype == at::kBFloat16 || dtype == at::kDouble,
              "a model in {} cannot be computed; use float32 or bfloat16", c10::toString(dtype));
}

void check_position(StagePosition position) {
  D9D_REQUIRE(position.num_stages > 0 && position.stage >= 0 && position.stage < position.num_stages,
              "there is no pipeline stage {} of {}", position.stage, position.num_stages);
}

void check_heads(const ModelDescription& model, const RouterBalance& balance) {
  D9D_REQUIRE(
      model.heads.empty() || !balance.wanted(),
      "the losses on the routing of experts are added to those of tokens, which only a model with one "
      "head for causal language modelling has; set router_aux_loss_coef and router_z_loss_coef to 0");
  D9D_REQUIRE(model.heads.empty() || model.prediction_depths == 0,
              "multi-token prediction needs a model with one head, for causal language modelling; leave "
              "mtp_loss_factor out, or the heads");
}

// Rounds the factor to the dtype of the weights, as transformers does.
double rounded(double scale, at::ScalarType dtype) {
  const auto single = static_cast<float>(scale);
  if (dtype == at::kBFloat16) return static_cast<float>(c10::BFloat16(single));
  return dtype == at::kFloat ? single : scale;
}

std::shared_ptr<Embedding> make_embedding(ParameterMaker& make, torch::nn::Module& body,
                                          const ModelDescription& model) {
  if (model.vocabulary_parts.empty()) {
    return make.child<TokenEmbedding>(body, "embed_tokens", model.vocab_size, model.hidden_size,
                                      model.pad_token_id);
  }
  return make.child<SplitTokenEmbedding>(body, "embed_tokens", model.vocabulary_parts, model.hidden_size,
                                         model.pad_token_id);
}

// Makes one projection for each table of the vocabulary.
std::vector<std::shared_ptr<Linear>> make_projections(ParameterMaker& make, torch::nn::Module& owner,
                                                      const ModelDescription& model) {
  if (model.vocabulary_parts.empty())
    return {make.child<Linear>(owner, "lm_head", model.hidden_size, model.vocab_size)};
  const auto parts = make.child<ModuleGroup>(owner, "lm_head");
  return make.within("lm_head", [&] {
    std::vector<std::shared_ptr<Linear>> projections;
    for (const VocabularyPart& part : model.vocabulary_parts)
      projections.push_back(make.child<Linear>(*parts, part.name, model.hidden_size, part.size));
    return projections;
  });
}

std::shared_ptr<RmsNorm> make_norm(ParameterMaker& make, torch::nn::Module& owner,
                                   const ModelDescription& model, const char* name) {
  return make.child<RmsNorm>(owner, name, model.hidden_size, model.rms_norm_eps, model.zero_centered_norms,
                             model.norm_kind);
}

// Null where the model has none.
std::shared_ptr<TransformedHidden> make_transform(ParameterMaker& make, torch::nn::Module& owner,
                                                  const ModelDescription& model) {
  if (!model.head_transform.wanted) return nullptr;
  return make.child<TransformedHidden>(owner, "head", model.hidden_size, model.rms_norm_eps, model.norm_kind,
                                       model.head_transform.bias);
}

// A table that is also the head's weight gets the role `output`. Both roles are ends of the model.
void say_roles(StageParameters& parameters, const std::vector<at::Tensor>& tables,
               const std::vector<at::Tensor>& of_heads) {
  for (StageParameter& parameter : parameters)
    if (parameter.role == ParameterRole::unsaid) parameter.role = ParameterRole::inside;
  for (const at::Tensor& table : tables) parameter_of(parameters, table).role = ParameterRole::embedding;
  for (const at::Tensor& weight : of_heads) parameter_of(parameters, weight).role = ParameterRole::output;
}

// A family may be a plugin's.
void require_whole_layer(const std::shared_ptr<DecoderLayer>& layer, std::int64_t index) {
  D9D_REQUIRE(layer != nullptr, "the family makes no layer {}; its make_layer() has to return one", index);
  D9D_REQUIRE(layer->has_blocks(),
              "layer {} of the family has no attention or no feed-forward block; its constructor has to set "
              "self_attn_ and mlp_ (make_attention, make_feed_forward)",
              index);
}

// A parameter that modules have and the stage does not know would be neither drawn nor trained nor saved.
void require_listed(const torch::nn::Module& stage, const StageParameters& parameters) {
  for (const auto& own : stage.named_parameters()) {
    const auto is_it = [&](const StageParameter& listed) { return listed.tensor.is_same(own.value()); };
    D9D_REQUIRE(std::ranges::any_of(parameters, is_it),
                "the module has the parameter {}, which nobody would draw, train or save; make it with the "
                "ParameterMaker (make.normal, make.constant, make.child) instead of register_parameter",
                own.key());
  }
}

}  // namespace

CausalLm::CausalLm(const ModelDescription& model, const RopeOptions& rope, StagePosition position,
                   const BuildOptions& options, const MakeLayer& make_layer)
    : position_(position),
      options_(options),
      hidden_size_(model.hidden_size),
      num_hidden_layers_(model.num_hidden_layers),
      vocabulary_(model.vocabulary_parts.empty() ? std::vector<VocabularyPart>{{"", model.vocab_size}}
                                                 : model.vocabulary_parts),
      rotary_({RotaryTable(rope, model.attention().turning_dim())}),
      embedding_scale_(rounded(model.embedding_scale, options.dtype)),
      summary_(model.hidden_states),
      balance_(model.balance()),
      has_experts_(model.experts_per_layer() > 0),
      causal_(model.causal) {
  check_position(position);
  check_heads(model, balance_);
  check_dtype(options.dtype);
  if (model.window_rope) rotary_.emplace_back(*model.window_rope, model.attention().turning_dim());
  ParameterMaker make(options.dtype, options.device, static_cast<float>(model.initializer_range));
  build(model, make, make_layer);
  parameters_ = make.parameters();
  require_listed(*this, parameters_);
  say_roles(parameters_, embed_tokens_ ? embed_tokens_->tables() : std::vector<at::Tensor>(),
            head_ ? head_->weights() : std::vector<at::Tensor>());
  if (embed_tokens_ && model.embeds_on_last_stage() && position.num_stages > 1) {
    for (const at::Tensor& table : embed_tokens_->tables())
      place(parameter_of(parameters_, table), axis_of_tied_copy(position.is_first() ? 0 : 1));
  }
  buffers_ = make.buffers();
  if (options.offload_layers > 0 && !options.device.is_cpu())
    offload_ = std::make_unique<ActivationOffload>(options.device);
}

void CausalLm::build(const ModelDescription& model, ParameterMaker& make, const MakeLayer& make_layer) {
  const auto ranges = layers_of_stages(model, position_.num_stages, options_.split);
  const LayerRange mine = ranges[static_cast<std::size_t>(position_.stage)];
  const auto body = make.child<ModuleGroup>(*this, "model");
  make.within("model", [&] {
    const bool again = position_.is_last() && model.embeds_on_last_stage();
    if (position_.is_first() || again) embed_tokens_ = make_embedding(make, *body, model);
    if (position_.is_first() && model.norms_embeddings)
      embed_norm_ = make_norm(make, *body, model, "embed_norm");
    const auto layers = make.child<ModuleGroup>(*body, "layers");
    make.within("layers", [&] {
      for (std::int64_t index = mine.begin; index < mine.end; ++index) {
        layers_[index] = make_layer(make, *layers, index);
        require_whole_layer(layers_[index], index);
      }
      if (position_.is_last() && model.prediction_depths > 0) {
        prediction_ = std::make_unique<MultiTokenPrediction>(make, *layers, model, make_layer);
        std::int64_t index = num_hidden_layers_;
        for (const auto& layer : prediction_->layers()) layers_[index++] = layer;
      }
      return 0;
    });
    if (position_.is_last()) norm_ = make_norm(make, *body, model, "norm");
    return 0;
  });
  if (position_.is_last()) head_ = make_heads(model, make);
}

std::unique_ptr<Head> CausalLm::make_heads(const ModelDescription& model, ParameterMaker& make) {
  const auto make_one = [&](const std::string& name, const HeadOptions& head,
                            torch::nn::Module& owner) -> std::unique_ptr<Head> {
    if (const auto* classes = std::get_if<ClassificationHead>(&head))
      return std::make_unique<ClassifyingHead>(make, owner, *classes, model.hidden_size, name,
                                               make_transform(make, owner, model));
    return std::make_unique<EmbeddingVectorHead>(make, owner, std::get<EmbeddingHead>(head),
                                                 model.hidden_size);
  };
  std::map<std::string, std::unique_ptr<Head>> heads;
  if (model.has_language_model_head()) {
    auto language = make_language_head(model, make);
    if (model.heads.empty()) return language;
    for (const auto& [name, head] : model.heads) {
      if (std::holds_alternative<CausalLmHead>(head)) heads[name] = std::move(language);
    }
  } else if (model.heads.begin()->first.empty()) {
    return make_one("", model.heads.begin()->second, *this);
  }
  const auto group = make.child<ModuleGroup>(*this, "heads");
  make.within("heads", [&] {
    for (const auto& [name, head] : model.heads) {
      if (heads.contains(name)) continue;
      const auto owner = make.child<ModuleGroup>(*group, name);
      heads[name] = make.within(name, [&] { return make_one(name, head, *owner); });
    }
    return 0;
  });
  return std::make_unique<NamedHeads>(std::move(heads));
}

std::unique_ptr<Head> CausalLm::make_language_head(const ModelDescription& model, ParameterMaker& make) {
  std::vector<std::shared_ptr<Linear>> projections;
  if (model.tie_word_embeddings) {
    for (const at::Tensor& table : embed_tokens_->tables())
      projections.push_back(std::make_shared<Linear>(table));
  } else {
    projections = make_projections(make, *this, model);
  }
  if (model.logit_bias) {
    D9D_CHECK(projections.size() == 1, "a bias of {} tables", projections.size());
    projections.front()->add_bias(make, "lm_head");
  }
  return std::make_unique<LanguageModelHead>(std::move(projections), model.tie_word_embeddings,
                                             model.logit_softcap, make_transform(make, *this, model));
}

}  // namespace d9d

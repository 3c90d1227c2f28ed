#pragma once
// The keys of the section `model_provider.model` that families with experts share beside model_keys.hpp.

#include "runtime/family/model_keys.hpp"

namespace d9d::model_keys {

inline constexpr Key moe_intermediate_size{"moe_intermediate_size", "",
                                           "width of an expert; required without `from`", config::optional,
                                           config::at_least(1)};
inline constexpr Key shared_expert_intermediate_size{"shared_expert_intermediate_size", "",
                                                     "width of the expert that every token visits; required "
                                                     "without `from`",
                                                     config::optional, config::at_least(1)};
inline constexpr Key router_jitter_noise{"router_jitter_noise", "", "only 0"};
inline constexpr Key num_experts{"num_experts", "",
                                 "experts of a layer; required without `from`, here or as num_local_experts",
                                 config::optional, config::at_least(0)};
inline constexpr Key num_local_experts{"num_local_experts", "", "another name of num_experts",
                                       config::optional, config::at_least(0)};
inline constexpr Key num_experts_per_tok{"num_experts_per_tok", "",
                                         "experts that each token visits; required without `from`",
                                         config::optional, config::at_least(1)};
inline constexpr Key norm_topk_prob{"norm_topk_prob", "",
                                    "divide the chosen probabilities by their sum; null: false"};
inline constexpr Key decoder_sparse_step{"decoder_sparse_step", "layers",
                                         "every so many-th layer has experts; null: 1", config::optional,
                                         config::at_least(1)};
inline constexpr Key mlp_only_layers{"mlp_only_layers", "",
                                     "layers (from 0) that are dense whatever the step; null: none",
                                     config::optional, config::at_least(0)};
inline constexpr Key output_router_logits{
    "output_router_logits", "", "whether the load balancing loss is added to the training loss; null: false"};
inline constexpr Key router_aux_loss_coef{
    "router_aux_loss_coef", "", "weight of that loss, where output_router_logits is true; null: 0.001"};
inline constexpr Key router_z_loss_coef{
    "router_z_loss_coef", "", "weight of the routers' z-loss in the training loss; not of transformers",
    config::optional, config::at_least(0)};
inline constexpr Key n_routed_experts{"n_routed_experts", "", "experts of a layer; required without `from`",
                                      config::optional, config::at_least(1)};
inline constexpr Key n_shared_experts{"n_shared_experts", "",
                                      "experts that every token visits, as one of so many times the width; "
                                      "required without `from`",
                                      config::optional, config::at_least(0)};
inline constexpr Key n_group{"n_group", "", "groups of experts; null: 1", config::optional,
                             config::at_least(1)};
inline constexpr Key topk_group{"topk_group", "", "groups from which a token chooses its experts; null: 1",
                                config::optional, config::at_least(1)};
inline constexpr Key routed_scaling_factor{"routed_scaling_factor", "",
                                           "factor of the chosen experts' weights; null: 2.5"};
inline constexpr Key first_k_dense_replace{"first_k_dense_replace", "layers",
                                           "first layers, which have no experts; null: 3", config::optional,
                                           config::at_least(0)};
inline constexpr Key router_bias_update_rate{
    "router_bias_update_rate", "",
    "balancing without a loss: by how much each update moves the selection bias of an expert up or down, "
    "where "
    "it got fewer or more tokens than the mean; not of transformers; null: 0, the bias stays",
    config::optional, config::at_least(0)};

}  // namespace d9d::model_keys

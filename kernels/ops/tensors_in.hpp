#pragma once
// Visits the tensors in an argument or a result of an op, in order: for_tensors(routing, f) calls
// f(scores), f(probs), f(experts). For a value without tensors it calls nothing.

#include <algorithm>

#include "kernels/ops/table.hpp"

namespace d9d::kernels {

template <class T, class F>
void for_tensors(T& value, F&& f) {
  using Value = std::remove_const_t<T>;
  const auto each = [&f](auto&... tensors) { (f(tensors), ...); };
  const auto all = [&f](auto&... lists) { (std::for_each(lists.begin(), lists.end(), f), ...); };
  constexpr auto is = []<class Wanted>() { return std::is_same_v<Value, Wanted>; };
  if constexpr (is.template operator()<at::Tensor>()) {
    each(value);
  } else if constexpr (is.template operator()<Normed>()) {
    each(value.normed, value.sum, value.inverse);
  } else if constexpr (is.template operator()<SiluMulGradients>()) {
    each(value.dgate, value.dup);
  } else if constexpr (is.template operator()<EmbeddedRows>()) {
    each(value.embedded, value.rows);
  } else if constexpr (is.template operator()<RopeAngles>()) {
    each(value.cos, value.sin);
  } else if constexpr (is.template operator()<RotatedHeads>()) {
    each(value.rotated, value.inverse);
  } else if constexpr (is.template operator()<NormGradients>() || is.template operator()<RopeGradients>()) {
    each(value.dx, value.dweight);
  } else if constexpr (is.template operator()<AttentionBlock>()) {
    each(value.out, value.lse);
  } else if constexpr (is.template operator()<VisibleKeys>()) {
    each(value.first, value.end);
  } else if constexpr (is.template operator()<ScoreBias>()) {
    each(value.values);
  } else if constexpr (is.template operator()<AttentionBlockGradients>()) {
    each(value.dq, value.dk, value.dv, value.dbias);
  } else if constexpr (is.template operator()<ValidTokens>()) {
    each(value.index, value.labels);
  } else if constexpr (is.template operator()<Routing>()) {
    each(value.scores, value.probs, value.experts);
  } else if constexpr (is.template operator()<ExpertOrder>()) {
    each(value.offsets, value.map);
  } else if constexpr (is.template operator()<ExpertRows>()) {
    each(value.offsets, value.map, value.token, value.scale);
  } else if constexpr (is.template operator()<ExpertRowGradients>()) {
    each(value.gate, value.up, value.hidden, value.scale);
  } else if constexpr (is.template operator()<ExpertFactor>()) {
    each(value.matrix);
  } else if constexpr (is.template operator()<ConvolutionInputs>()) {
    all(value.x);
  } else if constexpr (is.template operator()<ConvolutionParts>()) {
    all(value.of);
  } else if constexpr (is.template operator()<ConvolutionGradients>()) {
    all(value.dx, value.dsum);
  } else if constexpr (is.template operator()<DeltaGates>()) {
    each(value.decay, value.beta);
  } else if constexpr (is.template operator()<DeltaGateGradients>()) {
    each(value.dgates, value.dlog_rate, value.dbias);
  } else if constexpr (is.template operator()<DeltaRuleGradients>()) {
    each(value.dq, value.dk, value.dv, value.ddecay, value.dbeta);
  } else {
    // A new struct of tensors needs a line above. These types contain no tensors.
    static_assert(std::is_arithmetic_v<Value> || std::is_enum_v<Value> ||
                  std::is_same_v<Value, AttentionMask> || std::is_same_v<Value, RouterRule> ||
                  std::is_same_v<Value, AdamWSettings> || std::is_same_v<Value, RoundingNoise> ||
                  std::is_same_v<Value, RandomKey> || std::is_same_v<Value, BlockPlace> ||
                  std::is_same_v<Value, DeltaRuleOptions> || std::is_same_v<Value, CacheStretches> ||
                  std::is_same_v<Value, CopiedPieces> || std::is_same_v<Value, std::optional<double>>);
  }
}

}  // namespace d9d::kernels

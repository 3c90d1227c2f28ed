#include "runtime/nn/plan/ring_attention.hpp"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "kernels/attention/attention_block.hpp"
#include "kernels/attention/sinks.hpp"
#include "kernels/graph/kept_results.hpp"
#include "kernels/graph/node_pointer.hpp"
#include "kernels/memory/host_values.hpp"
#include "runtime/base/error.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/device/upload.hpp"
#include "runtime/nn/plan/widened_heads.hpp"

namespace d9d {
namespace {

using kernels::AttentionBlock;
using torch::autograd::variable_list;

// A block in which each query sees only the keys of its own document.
struct DocumentBlock : VisibleBlock {
  kernels::VisibleKeys visible;
};

enum Tag : int { forward_keys, backward_keys, key_gradients };

at::Tensor tokens(const at::Tensor& x, const TokenRange& range) {
  return x.narrow(1, range.first, range.count);
}

// Where the documents of this rank's tokens begin, and if needed end, in the whole rows, [B, S], on the host;
// undefined when each row is one document.
kernels::VisibleKeys own_documents(AttentionRule rule, TokenOrder order, const Communicator& group) {
  if (!rule.document_starts.defined()) return {};
  rule.document_starts = kernels::fetch_host_values(rule.document_starts);
  const auto own = [&](const at::Tensor& of_all) {
    std::vector<at::Tensor> parts;
    for (const TokenRange& range : tokens_of(order, group.rank(), group.size(), of_all.size(1)))
      parts.push_back(tokens(of_all, range));
    return at::cat(parts, 1);
  };
  const auto [first, end] = visible_keys(rule);
  return {own(first), end.defined() ? own(end) : at::Tensor()};
}

struct Ring {
  SharedCommunicator group;
  TokenOrder order;
  AttentionRule rule;
  kernels::VisibleKeys documents = own_documents(rule, order, *group);

  int size() const { return group->size(); }
  int next() const { return (group->rank() + 1) % size(); }
  int previous() const { return (group->rank() + size() - 1) % size(); }
  // The rank that owns the keys which are here after `step` steps.
  int owner(int step) const { return (group->rank() + size() - step) % size(); }

  // Starts to send `sent` to the next rank. Returns the tensor that receives from the previous rank:
  // do not read it before received().
  at::Tensor pass_on(const at::Tensor& sent, Tag tag) const {
    at::Tensor coming = at::empty_like(sent);
    group->begin_exchange(sent, next(), coming, previous(), tag);
    return coming;
  }
  at::Tensor received(at::Tensor coming, Tag tag) const {
    group->end_exchange(coming, previous(), tag).wait();
    return coming;
  }
  // The keys of a block before the positions `limits` of whole rows; undefined without limits.
  at::Tensor keys_up_to(const at::Tensor& limits, const VisibleBlock& block, int owner) const {
    if (!limits.defined()) return {};
    const auto theirs = tokens_of(order, owner, size(), rule.document_starts.size(1));
    const at::Tensor keys = tokens(limits, block.queries).clone(at::MemoryFormat::Contiguous);
    auto* const key = keys.mutable_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < keys.numel(); ++i) key[i] = keys_before(theirs, block.keys, key[i]);
    return keys;
  }
  // The visible blocks of the keys that are here after `step` steps. Blocks are left out when
  // all their keys are of other documents than the queries. Of a rank's own keys, the first
  // blocks hold each query's own key.
  std::vector<DocumentBlock> blocks_at(int step, std::int64_t count) const {
    std::vector<DocumentBlock> blocks;
    for (const VisibleBlock& block :
         visible_blocks(order, group->rank(), owner(step), size(), count, {rule.window, rule.causal})) {
      const at::Tensor first = keys_up_to(documents.first, block, owner(step));
      const at::Tensor end = keys_up_to(documents.end, block, owner(step));
      const bool hidden =
          first.defined() && !(end.defined() ? first.lt(end) : first.lt(block.keys.count)).any().item<bool>();
      if (hidden) continue;
      const auto there = [this](const at::Tensor& limits) {
        return limits.defined() ? upload(limits, device_of(rule.document_starts.device())) : limits;
      };
      blocks.push_back({block, {there(first), there(end)}});
    }
    return blocks;
  }
  // Calls f(keys and values [2, B, S, Hkv, D] that are here, their visible blocks,
  // step) for the keys of each rank.
  template <class F>
  void go_round(at::Tensor kv, Tag tag, F&& f) const {
    const std::int64_t count = kv.size(2);
    for (int step = 0; step < size(); ++step) {
      const bool last = step + 1 == size();
      const at::Tensor coming = last ? at::Tensor() : pass_on(kv, tag);
      f(kv, blocks_at(step, count), step);
      if (!last) kv = received(coming, tag);
    }
  }
};

// The dtype in which blocks are summed.
at::ScalarType wide(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

using Blocks = std::vector<DocumentBlock>;

AttentionBlock rows(const AttentionBlock& block, const TokenRange& range) {
  return {tokens(block.out, range), block.lse.narrow(2, range.first, range.count)};
}

// Writes the first part of the queries `range` into the sum of all `count`
// queries, which it allocates if needed.
void start(AttentionBlock& sum, const AttentionBlock& part, const TokenRange& range, std::int64_t count) {
  if (range.count == count) {
    sum = part;
    return;
  }
  if (!sum.out.defined()) {
    std::vector<std::int64_t> shape = part.out.sizes().vec();
    shape[1] = count;
    sum = {at::empty(shape, part.out.options()),
           at::empty({part.lse.size(0), part.lse.size(1), count}, part.lse.options())};
  }
  const AttentionBlock place = rows(sum, range);
  place.out.copy_(part.out);
  place.lse.copy_(part.lse);
}

AttentionBlock ring_forward(const Ring& ring, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) {
  AttentionBlock sum;
  ring.go_round(at::stack({k, v}), forward_keys, [&](const at::Tensor& kv, const Blocks& blocks, int step) {
    for (const DocumentBlock& block : blocks) {
      const AttentionBlock part = kernels::attention_block(
          tokens(q, block.queries), tokens(kv[0], block.keys), tokens(kv[1], block.keys), block.mask,
          ring.rule.scale, wide(q), block.visible);
      if (step == 0 && block.queries == block.keys) {
        start(sum, part, block.queries, q.size(1));  // with each query's own key
      } else {
        merge_attention_block(rows(sum, block.queries), part);
      }
    }
  });
  if (ring.rule.sinks.defined()) kernels::add_sinks(sum, ring.rule.sinks);
  return {sum.out.to(q.scalar_type()), sum.lse};
}

kernels::AttentionBlockGradients ring_backward(const Ring& ring, const at::Tensor& grad, const at::Tensor& q,
                                               const at::Tensor& k, const at::Tensor& v,
                                               const AttentionBlock& forward) {
  at::Tensor dq;
  at::Tensor dkv;     // of the keys that are here: the sum over the ranks that these keys have visited
  at::Tensor coming;  // of the keys that the next step brings
  const auto visit = [&](const at::Tensor& kv, const Blocks& blocks, int step) {
    if (step > 0) dkv = ring.received(coming, key_gradients);
    for (const DocumentBlock& block : blocks) {
      const auto part = kernels::attention_block_backward(
          tokens(grad, block.queries), tokens(q, block.queries), tokens(kv[0], block.keys),
          tokens(kv[1], block.keys), rows(forward, block.queries), block.mask, ring.rule.scale, wide(q),
          block.visible);
      if (!dq.defined() && block.queries.count == q.size(1)) {
        dq = part.dq;
        dkv = at::stack({part.dk, part.dv});
        continue;
      }
      if (!dq.defined()) {
        dq = at::zeros(q.sizes(), part.dq.options());
        dkv = at::zeros(kv.sizes(), part.dk.options());
      }
      tokens(dq, block.queries).add_(part.dq);
      tokens(dkv[0], block.keys).add_(part.dk);
      tokens(dkv[1], block.keys).add_(part.dv);
    }
    coming = ring.pass_on(dkv, key_gradients);  // after the last step this brings them back to their owner
  };
  ring.go_round(at::stack({k, v}), backward_keys, visit);
  dkv = ring.received(coming, key_gradients).to(k.scalar_type());
  return {dq.to(q.scalar_type()), dkv[0], dkv[1]};
}

// Inputs: q, k, v, sinks.
class RingNode final : public torch::autograd::Node {
 public:
  RingNode(Ring ring, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, AttentionBlock forward)
      : ring_(std::move(ring)), q_(q.detach()), k_(k.detach()), v_(v.detach()), forward_(std::move(forward)) {
    set_next_edges(torch::autograd::collect_next_edges(q, k, v, ring_.rule.sinks));
    ring_.rule.sinks = ring_.rule.sinks.defined() ? ring_.rule.sinks.detach() : at::Tensor();
  }
  std::string name() const override { return "d9d::ring_attention"; }
  void release_variables() override {
    q_ = k_ = v_ = at::Tensor();
    forward_ = {};
  }

 private:
  variable_list apply(variable_list&& grads) override {
    D9D_CHECK(grads[0].defined(), "no gradient arrives at ring attention; all ranks of the group go round");
    D9D_CHECK(q_.defined(),
              "ring attention was run backward twice; its inputs are gone after the first time");
    const at::NoGradGuard off;
    const auto found = ring_backward(ring_, grads[0], q_, k_, v_, forward_);
    const at::Tensor& sinks = ring_.rule.sinks;
    return {found.dq, found.dk, found.dv,
            sinks.defined() ? kernels::sink_gradient(grads[0], forward_, sinks) : at::Tensor()};
  }

  Ring ring_;
  at::Tensor q_, k_, v_;
  AttentionBlock forward_;
};

}  // namespace

at::Tensor RingAttention::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const AttentionRule& rule) const {
  D9D_CHECK(!rule.bias, "ring attention is given a bias, which it does not take");
  // Keys and values travel as one tensor, so they have to be equally wide.
  if (k.size(3) != v.size(3)) {
    const auto equally_wide = [&](const at::Tensor& wide_q, const at::Tensor& wide_k,
                                  const at::Tensor& wide_v) { return attend(wide_q, wide_k, wide_v, rule); };
    return attend_equally_wide(q, k, v, equally_wide);
  }
  const Ring ring{group_, order_, rule};
  AttentionBlock forward;
  {
    const at::NoGradGuard off;
    const auto kept = kernels::run_once(
        "d9d::ring_attention", {kernels::KeptKind::attention}, q, [&]() -> kernels::Results {
          const AttentionBlock block = ring_forward(ring, q.detach(), k.detach(), v.detach());
          return {block.out, block.lse};
        });
    forward = {kept[0], kept[1]};
  }
  const bool wanted = q.requires_grad() || k.requires_grad() || v.requires_grad() ||
                      (rule.sinks.defined() && rule.sinks.requires_grad());
  if (!at::GradMode::is_enabled() || !wanted) return forward.out;
  // The node keeps forward.out. The result has to be another tensor over the same memory: a node that holds
  // its own output is a cycle and would never be freed.
  at::Tensor out = forward.out.detach();
  const auto node = kernels::make_node<RingNode>(ring, q, k, v, std::move(forward));
  torch::autograd::set_history(out, node);
  return out;
}

}  // namespace d9d

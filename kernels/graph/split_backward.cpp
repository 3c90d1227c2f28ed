#include "kernels/graph/split_backward.hpp"

#include <c10/core/AutogradState.h>
#include <c10/util/Type.h>
#include <torch/csrc/autograd/engine.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <deque>
#include <memory>
#include <typeinfo>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "kernels/graph/leaf_node.hpp"
#include "kernels/graph/node.hpp"

namespace d9d::kernels {
namespace {

using torch::autograd::Edge;
using torch::autograd::Node;
using torch::autograd::variable_list;

// Makes autograd run the nodes of all devices on the calling thread while this object exists. By default
// it has a thread for each device except the CPU. On the caller's thread launches keep their order, and
// nodes find the thread's WeightWork.
class OnThisThread {
 public:
  explicit OnThisThread(bool wanted) : threads_(state().get_multithreading_enabled()) {
    if (wanted) state().set_multithreading_enabled(false);
  }
  ~OnThisThread() { state().set_multithreading_enabled(threads_); }
  OnThisThread(const OnThisThread&) = delete;
  OnThisThread& operator=(const OnThisThread&) = delete;

 private:
  static c10::AutogradState& state() { return c10::AutogradState::get_tls_state(); }
  const bool threads_;
};

void execute(const std::vector<BackwardRoot>& roots, bool keep_graph) {
  torch::autograd::edge_list edges;
  variable_list gradients;
  for (const BackwardRoot& root : roots) {
    edges.push_back(root.edge);
    gradients.push_back(root.gradient);
  }
  if (edges.empty()) return;  // no leaf below the roots is trainable
  const OnThisThread here(gradients.front().defined() && !gradients.front().is_cpu());
  torch::autograd::Engine::get_default_engine().execute(edges, gradients, keep_graph, /*create_graph=*/false,
                                                        /*accumulate_grad=*/true);
}

class Capture final : public torch::autograd::FunctionPreHook {
 public:
  explicit Capture(variable_list& into) : into_(into) {}
  variable_list operator()(const variable_list& gradients) override { return into_ = gradients; }

 private:
  variable_list& into_;
};

// Frees a node's saved tensors when it has run, as the engine itself does if the graph is not kept.
class ReleaseAfterUse final : public torch::autograd::FunctionPostHook {
 public:
  explicit ReleaseAfterUse(Node& node) : node_(node) {}
  variable_list operator()(const variable_list& outputs, const variable_list& /*inputs*/) override {
    node_.release_variables();
    return outputs;
  }

 private:
  Node& node_;
};

// Whether a node can compute the gradients of some inputs without computing the others.
bool splits(const Node& node) {
  if (const auto* own = dynamic_cast<const BackwardNode*>(&node)) return own->runs_in_halves();
  const std::string type = c10::demangle(typeid(node).name());
  return type.starts_with("torch::autograd::generated::") && node.post_hooks().empty();
}

// A node of the main path, and its edges to weights.
struct Cut {
  NodePointer<Node> node;
  std::vector<std::pair<std::size_t, Edge>> to_weights;
  variable_list gradients = {};

  void begin_first_half() {
    for (auto& [index, edge] : to_weights) std::swap(node->next_edges()[index], edge);
    node->add_pre_hook(std::make_unique<Capture>(gradients));
  }
  // Removes the hooks, because they have seen the gradients in the first half.
  void begin_second_half() {
    for (Edge& edge : node->next_edges()) edge = {};
    for (auto& [index, edge] : to_weights) node->next_edges()[index] = std::move(edge);
    node->pre_hooks().clear();
    node->tensor_pre_hooks().clear();
    node->retains_grad_hooks().clear();
  }
};

class TwoHalves {
 public:
  TwoHalves(const std::vector<BackwardRoot>& roots, at::TensorList inputs, const WeightWork& work)
      : leaves_(*work.leaves()) {
    for (const at::Tensor& input : inputs)
      inputs_.insert(torch::autograd::impl::grad_accumulator(input).get());
    for (const BackwardRoot& root : roots) look_below(*root.edge.function);
    for (Node* node : order_) {
      if (places_.at(node).on_main_path) cut(*node);
    }
    for (const BackwardRoot& root : roots) {
      (may_wait(*root.edge.function) ? second_ : first_).push_back(root);
    }
  }

  bool nothing_waits() const { return cuts_.empty() && second_.empty(); }

  // Runs the first half and returns the roots of the second one.
  std::vector<BackwardRoot> run_first() {
    mark_second_half();
    for (Cut& cut : cuts_) cut.begin_first_half();
    for (Node* node : order_) {
      if (places_.at(node).on_main_path && !in_second_.contains(node) && !inputs_.contains(node))
        node->add_post_hook(std::make_unique<ReleaseAfterUse>(*node));
    }
    execute(first_, /*keep_graph=*/true);
    // Nodes beside the main path may outlive the microbatch (a view of a weight that a model keeps). They
    // get no hook, which would stay on them; their tensors are freed here.
    for (Node* node : order_) {
      if (!places_.at(node).on_main_path && !in_second_.contains(node)) node->release_variables();
    }
    for (Cut& cut : cuts_) {
      cut.begin_second_half();
      for (std::uint32_t i = 0; i < cut.gradients.size(); ++i) {
        if (cut.gradients[i].defined()) second_.push_back({Edge(cut.node, i), cut.gradients[i]});
      }
    }
    return std::move(second_);
  }

 private:
  struct Place {
    bool on_main_path = false;
    bool stays = false;  // a leaf below it must be computed in the first half
  };
  struct Step {
    Node* node;
    std::size_t next = 0;
  };

  // Depth first, because the place of a node depends on the places of all nodes below it.
  void look_below(Node& root) {
    std::vector<Step> open;
    const auto visit = [&](Node* node) {
      if (node != nullptr && places_.emplace(node, Place()).second) open.push_back({node});
    };
    visit(&root);
    while (!open.empty()) {
      Step& step = open.back();
      if (step.next < step.node->num_outputs()) {
        visit(step.node->next_edge(step.next++).function.get());
        continue;
      }
      places_.at(step.node) = place_of(*step.node);
      order_.push_back(step.node);
      open.pop_back();
    }
  }

  Place place_of(Node& node) const {
    Place place{inputs_.contains(&node)};
    bool is_end = true;
    for (const Edge& edge : node.next_edges()) {
      if (!edge.is_valid()) continue;
      const Place& below = places_.at(edge.function.get());
      is_end = false;
      place.on_main_path |= below.on_main_path;
      place.stays |= below.stays;
    }
    // A node without edges may add to weights itself, unknown to autograd (recomputation does),
    // so it cannot wait.
    if (is_end) place.stays = !is_known_leaf(node);
    return place;
  }
  bool is_known_leaf(Node& node) const {
    const at::Tensor* const leaf = leaf_of(node);
    return leaf != nullptr && leaves_.contains(leaf->unsafeGetTensorImpl());
  }
  bool may_wait(const Node& node) const {
    const Place& place = places_.at(&node);
    return !place.on_main_path && !place.stays;
  }

  void cut(Node& node) {
    std::vector<std::pair<std::size_t, Edge>> to_weights;
    for (std::size_t i = 0; i < node.num_outputs(); ++i) {
      const Node* below = node.next_edge(i).function.get();
      if (below != nullptr && may_wait(*below) && !queues(node, *below)) to_weights.emplace_back(i, Edge());
    }
    if (to_weights.empty() || !splits(node)) return;
    cuts_.push_back({node.getptr(), std::move(to_weights)});
  }
  // Whether the node submits the gradient of this leaf as weight work.
  static bool queues(const Node& node, const Node& below) {
    const auto* own = dynamic_cast<const BackwardNode*>(&node);
    const at::Tensor* const leaf = leaf_of(below);
    return own != nullptr && leaf != nullptr && own->is_direct(*leaf);
  }

  void mark_second_half() {
    std::vector<Node*> open;
    const auto visit = [&](Node* node) {
      if (node != nullptr && in_second_.insert(node).second) open.push_back(node);
    };
    for (const BackwardRoot& root : second_) visit(root.edge.function.get());
    for (const Cut& cut : cuts_) {
      in_second_.insert(cut.node.get());
      for (const auto& [index, edge] : cut.to_weights) visit(cut.node->next_edge(index).function.get());
    }
    while (!open.empty()) {
      const Node* node = open.back();
      open.pop_back();
      for (const Edge& edge : node->next_edges()) visit(edge.function.get());
    }
  }

  const WeightWork::Leaves& leaves_;
  std::unordered_set<const Node*> inputs_;
  std::unordered_map<const Node*, Place> places_;
  std::vector<Node*> order_;                  // keys of places_: each node after all nodes below it
  std::deque<Cut> cuts_;                      // a deque, because hooks point into its elements
  std::vector<BackwardRoot> first_, second_;  // where each half begins
  std::unordered_set<const Node*> in_second_;
};

}  // namespace

void run_backward(const std::vector<BackwardRoot>& roots, at::TensorList inputs, WeightWork* work) {
  if (work == nullptr || work->mode() == WeightWork::Mode::now || !work->leaves()) {
    return execute(roots, /*keep_graph=*/false);
  }
  TwoHalves halves(roots, inputs, *work);
  if (halves.nothing_waits()) return execute(roots, /*keep_graph=*/false);
  auto second = std::make_shared<std::vector<BackwardRoot>>(halves.run_first());
  work->submit_backward([second] { execute(std::exchange(*second, {}), /*keep_graph=*/false); });
}

}  // namespace d9d::kernels

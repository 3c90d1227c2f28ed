#include "runtime/pipeline/stage/split_watch.hpp"

#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/function_hook.h>
#include <torch/csrc/autograd/variable.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace d9d {
namespace {

using torch::autograd::Node;
using torch::autograd::variable_list;

class GradientSeen final : public torch::autograd::FunctionPostHook {
 public:
  explicit GradientSeen(bool& seen) : seen_(seen) {}
  variable_list operator()(const variable_list& outputs, const variable_list& inputs) override {
    seen_ = seen_ || std::any_of(inputs.begin(), inputs.end(), [](const auto& t) { return t.defined(); });
    return outputs;
  }

 private:
  bool& seen_;
};

}  // namespace

SplitWatch::SplitWatch(const std::vector<StageParameter>& parameters, const Nodes& roots) {
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].tensor.requires_grad()) continue;
    auto entry = std::make_unique<Entry>();
    entry->accumulator = torch::autograd::impl::grad_accumulator(parameters[i].tensor);
    entry->hook = entry->accumulator->add_post_hook(std::make_unique<GradientSeen>(entry->got_gradient));
    entry->found.parameter = i;
    entries_.push_back(std::move(entry));
  }
  name_users(roots);
}

SplitWatch::~SplitWatch() {
  for (const auto& entry : entries_) entry->accumulator->del_post_hook(entry->hook);
}

void SplitWatch::name_users(const Nodes& roots) {
  std::unordered_map<const Node*, std::set<std::string>> users;
  for (const auto& entry : entries_) users[entry->accumulator.get()];
  std::unordered_set<Node*> seen;
  std::vector<Node*> open;
  const auto visit = [&](Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const auto& root : roots) visit(root.get());
  while (!open.empty()) {
    Node* node = open.back();
    open.pop_back();
    for (const auto& edge : node->next_edges()) {
      const auto user = users.find(edge.function.get());
      if (user != users.end()) user->second.insert(node->name());
      visit(edge.function.get());
    }
  }
  for (const auto& entry : entries_) {
    for (const std::string& name : users[entry->accumulator.get()]) {
      entry->found.nodes += (entry->found.nodes.empty() ? "" : ", ") + name;
    }
    // No node of this graph uses the parameter, so a block that is recomputed in the backward does.
    if (entry->found.nodes.empty()) entry->found.nodes = "an operator of a recomputed block";
  }
}

std::vector<SplitWatch::Found> SplitWatch::not_split() const {
  std::vector<Found> found;
  for (const auto& entry : entries_) {
    if (entry->got_gradient) found.push_back(entry->found);
  }
  return found;
}

}  // namespace d9d

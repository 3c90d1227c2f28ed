#include "runtime/comm/rank_group.hpp"

#include <ATen/ops/full.h>

#include <exception>

#include "runtime/base/error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/comm/gather.hpp"

namespace d9d {
namespace {

std::vector<nlohmann::json> parsed(const std::vector<std::string>& texts) {
  std::vector<nlohmann::json> objects;
  for (const std::string& text : texts) objects.push_back(parse_json<nlohmann::json>(text));
  return objects;
}

}  // namespace

void RankGroup::all_reduce(at::Tensor& tensor, ReduceOp op) const {
  if (!communicator_) return;
  communicator_->all_reduce(tensor, op).wait();
}

double RankGroup::all_reduce(double value, ReduceOp op) const {
  at::Tensor tensor = at::full({1}, value, at::kDouble);
  all_reduce(tensor, op);
  return tensor.item<double>();
}

void RankGroup::broadcast(at::Tensor& tensor, int root) const {
  if (!communicator_) return;
  communicator_->broadcast(tensor, root).wait();
}

std::vector<at::Tensor> RankGroup::all_gather(const at::Tensor& tensor) const {
  return communicator_ ? all_gather_variadic(*communicator_, tensor) : std::vector{tensor};
}

std::vector<at::Tensor> RankGroup::gather(const at::Tensor& tensor, int root) const {
  return communicator_ ? gather_variadic(*communicator_, tensor, root) : std::vector{tensor};
}

std::vector<nlohmann::json> RankGroup::all_gather_object(const nlohmann::json& object) const {
  if (!communicator_) return {object};
  return parsed(all_gather_bytes(*communicator_, json_text(object)));
}

std::vector<nlohmann::json> RankGroup::gather_object(const nlohmann::json& object, int root) const {
  if (!communicator_) return {object};
  return parsed(gather_bytes(*communicator_, json_text(object), root));
}

nlohmann::json RankGroup::broadcast_object(const nlohmann::json& object, int root) const {
  const nlohmann::json mine = rank() == root ? object : nlohmann::json();
  return all_gather_object(mine).at(static_cast<std::size_t>(root));
}

void RankGroup::barrier() const {
  if (communicator_) communicator_->barrier();
}

// The broadcast of the outcome is also the barrier for the ranks that wait.
void RankGroup::run_alone(int runner, const std::function<void()>& section) const {
  std::exception_ptr thrown;
  std::string failure;
  if (rank() == runner) {
    try {
      section();
    } catch (...) {
      thrown = std::current_exception();
      failure = describe_current_exception().what;
    }
  }
  const nlohmann::json told = broadcast_object(
      rank() == runner ? nlohmann::json{{"failed", thrown != nullptr}, {"text", failure}} : nlohmann::json(),
      runner);
  if (thrown) std::rethrow_exception(thrown);
  if (!told.at("failed").get<bool>()) return;
  throw Error(ErrorKind::environment,
              fmt::format("rank {} of the group, for which this one waited, failed: {}", runner,
                          told.at("text").get<std::string>()));
}

void RankGroup::first_then_others(const std::function<void()>& section) const {
  run_alone(0, section);
  if (!is_first()) section();
}

void RankGroup::in_turn(const std::function<void()>& section) const {
  for (int runner = 0; runner < size(); ++runner) run_alone(runner, section);
}

}  // namespace d9d

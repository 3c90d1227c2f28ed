// A program of one's own: it trains the same perceptron with two learning rates and exports the better one.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mse_loss.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/tensor.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>

#include "actors/cli/own_program.hpp"
#include "kernels/linear.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/job/job_paths.hpp"
#include "runtime/plugin/own_pieces.hpp"

namespace regression {

// Data: points of a curve with noise, which are no tokens.
struct Curve final : d9d::SampleSource {
  double noise = 0;
  std::optional<std::uint64_t> num_samples() const override { return std::nullopt; }
  std::int64_t sequence_length() const override { return 1; }
  d9d::Sample at(std::uint64_t index) const override {
    const d9d::RandomStream drawn(1, "curve", index);
    const double x = 4 * drawn.uniform(0) - 2, y = std::sin(3 * x) + noise * drawn.normal(1);
    return {.numbers = {{"x", {static_cast<float>(x)}}, {"y", {static_cast<float>(y)}}}};
  }
};
BOOST_DESCRIBE_STRUCT(Curve, (), (noise))

// Collation: how the samples of a microbatch become tensors, fp32 [B, 1].
struct Points {
  at::Tensor x, y;
};
BOOST_DESCRIBE_STRUCT(Points, (), (x, y))
Points points(const d9d::NoKeys&, std::span<const d9d::Sample> samples) {
  const auto column = [&](const std::string& name) {
    std::vector<float> values;
    for (const d9d::Sample& sample : samples) values.push_back(sample.numbers.at(name).front());
    return at::tensor(values).unsqueeze(1);
  };
  return {column("x"), column("y")};
}

// Model: one hidden layer. All ranks hold all of it.
struct Sizes {
  d9d::Count width = 32;
};
BOOST_DESCRIBE_STRUCT(Sizes, (), (width))
struct Perceptron final : d9d::StageModule {
  using Keys = Sizes;
  std::vector<d9d::StageParameter> all;
  Perceptron(const Keys& keys, const d9d::StagePosition& position) {
    D9D_REQUIRE(position.num_stages == 1, "mesh.pipeline_parallel: the perceptron has one stage");
    const auto add = [&](const std::string& name, std::vector<std::int64_t> shape, float spread) {
      const at::Tensor values = at::empty(shape, at::TensorOptions(position.device)).requires_grad_();
      all.push_back({name, values, d9d::Layout::local(shape), {d9d::Initial::Kind::uniform, spread}});
    };
    add("hidden.weight", {keys.width, 1}, 3);
    add("hidden.bias", {keys.width}, 3);
    add("out.weight", {1, keys.width}, 0.3F);
  }
  d9d::TensorMap forward(const d9d::TensorMap& inputs, const d9d::TensorMap&) override {
    const at::Tensor hidden = at::tanh(d9d::kernels::linear(inputs.at("x"), all[0].tensor) + all[1].tensor);
    return {{"y", d9d::kernels::linear(hidden, all[2].tensor)}};
  }
  std::vector<d9d::StageParameter> parameters() override { return all; }
  void set_training(bool) override {}
};

// Task: which tensors go where, and the loss.
struct SquaredError final : d9d::TrainTask {
  d9d::ForwardInputs build_forward_inputs(const d9d::MicrobatchContext& context) const override {
    const auto batch = d9d::tree_of<Points>(context.batch);
    return {.inputs = {{"x", batch.x}}, .shared = {}, .state = {{"y", batch.y}}};
  }
  d9d::Loss compute_loss(const d9d::LossContext& context) const override {
    const at::Tensor& y = context.state.at("y");
    return {at::mse_loss(context.outputs.at("y"), y), static_cast<double>(y.numel())};
  }
};

BOOST_DESCRIBE_STRUCT(SquaredError, (), ())

// The loss of the last step, from the run's metrics.jsonl.
double last_loss(const d9d::JobConfig& job) {
  std::ifstream lines(d9d::metrics_file(job));
  double loss = NAN;
  for (std::string line; std::getline(lines, line);) loss = nlohmann::json::parse(line).value("loss", loss);
  return loss;
}

}  // namespace regression

extern "C" void d9d_register(d9d::Registry& registry) {
  d9d::add_source<regression::Curve>(registry, "curve");
  d9d::add_collation(registry, "points", regression::points);
  d9d::add_model<regression::Perceptron>(registry, "perceptron");
  d9d::add_task<regression::SquaredError>(registry, "squared_error");
}

// regression [KEY.PATH=VALUE]...
int main(int argc, char** argv) {
  return d9d::run_program(argc, argv, [&](d9d::OwnProgram& program) {
    std::optional<d9d::ConfiguredJob> best;
    double least = 0;
    for (const std::string rate : {"1.0e-3", "1.0e-2"}) {
      std::vector<std::string> changes{"optimizer.lr=" + rate, "output_dir=runs/own_program/" + rate};
      changes.insert(changes.end(), argv + 1, argv + argc);
      const d9d::ConfiguredJob job = program.configure("examples/own_program/job.yaml", changes);
      program.train(job);
      const double loss = regression::last_loss(job.config);
      if (program.is_main(job)) std::printf("learning rate %s: loss %.4f\n", rate.c_str(), loss);
      if (!best || loss < least) best = job, least = loss;
    }
    program.export_model(*best, "runs/own_program/model");
  });
}

#include "tests/support/parallel_world.hpp"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include <cmath>
#include <exception>
#include <mutex>
#include <thread>

#include "runtime/base/error.hpp"
#include "runtime/base/rng.hpp"
#include "runtime/comm/communicator.hpp"
#include "runtime/comm/factory.hpp"
#include "runtime/nn/late_init.hpp"
#include "runtime/pipeline/make_stage_core.hpp"
#include "runtime/rank/gradient_groups.hpp"
#include "runtime/rank/group_worker.hpp"
#include "runtime/rank/optimizer_of_job.hpp"
#include "runtime/rank/qwen3_provider.hpp"
#include "runtime/rank/rank_gradients.hpp"
#include "runtime/rank/rank_groups.hpp"
#include "runtime/rank/stage_units.hpp"
#include "runtime/train/gradient_norm.hpp"
#include "runtime/train/gradient_sync.hpp"

namespace d9d::test {
namespace {

constexpr std::uint64_t kSeed = 1;
constexpr auto kTimeout = std::chrono::seconds(60);
constexpr std::int64_t kIgnored = -100;

at::Tensor block_of(at::Tensor global, const Slice& slice) {
  for (std::size_t dim = 0; dim < slice.begin.size(); ++dim) {
    global =
        global.narrow(static_cast<std::int64_t>(dim), slice.begin[dim], slice.end[dim] - slice.begin[dim]);
  }
  return global;
}

// What the ranks found, put together.
class Gathered {
 public:
  void add_totals(double loss_sum, double weight_sum, double squared_norm) {
    const std::lock_guard lock(mutex_);
    loss_ += loss_sum;
    weight_ += weight_sum;
    squares_ += squared_norm;
  }

  void add_gradient(const StageParameter& parameter) {
    const std::lock_guard lock(mutex_);
    const auto [place, is_new] = entries_.try_emplace(parameter.name);
    Entry& entry = place->second;
    if (is_new) {
      entry.gradient = at::zeros(parameter.layout.global_shape(), parameter.tensor.grad().options());
      entry.found = at::zeros(parameter.layout.global_shape(), at::kBool);
    }
    const Slice slice = parameter.layout.local_slice();
    const at::Tensor found = block_of(entry.found, slice);
    const at::Tensor gradient = block_of(entry.gradient, slice);
    if (found.any().item<bool>()) {
      EXPECT_TRUE(at::equal(gradient, parameter.tensor.grad())) << "replicas differ in " << parameter.name;
    }
    gradient.copy_(parameter.tensor.grad());
    found.fill_(true);
  }

  Trained result() const {
    Trained trained{loss_ / weight_, {}, std::sqrt(squares_) / weight_};
    for (const auto& [name, entry] : entries_) {
      EXPECT_TRUE(entry.found.all().item<bool>()) << "no rank holds some elements of " << name;
      trained.gradients[name] = entry.gradient / weight_;
    }
    return trained;
  }

 private:
  struct Entry {
    at::Tensor gradient;
    at::Tensor found;  // bool: some rank has given this element
  };
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  double loss_ = 0, weight_ = 0, squares_ = 0;
};

class World {
 public:
  explicit World(const ParallelCase& given)
      : given_(given),
        plan_(given.mesh, {given.mesh.world_size()}),
        factory_(plan_, hub_, nullptr, {.timeout = kTimeout}),
        provider_(make_qwen3_provider(given.model, ModelDtype::float32, given.enable_checkpointing, disk_)) {}

  Trained run() {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < plan_.world_size(); ++rank) {
      threads.emplace_back([this, rank] { run_or_abort(rank); });
    }
    for (std::thread& thread : threads) thread.join();
    if (error_) std::rethrow_exception(error_);
    return gathered_.result();
  }

  const Plan& plan() const { return plan_; }
  const ParallelOptions& options() const { return given_.options; }
  std::shared_ptr<Communicator> open(int rank, const std::string& domain, const std::vector<std::string>& axes,
                                     const std::string& use) const {
    return factory_.open(rank, domain, axes, use);
  }

 private:
  void run_or_abort(int rank) {
    try {
      run_rank(rank);
    } catch (const std::exception& error) {
      {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
      hub_.abort_all(error.what());
    }
  }

  void run_rank(int rank);
  void fill(const std::vector<StageParameter>& parameters) const;
  std::vector<RankBatch> batches_of(int rank) const;
  void step(StageCore& core, const StageUnits& units, const std::vector<RankBatch>& batches) const;

  const ParallelCase& given_;
  const Plan plan_;
  SharedMemoryHub hub_;
  const CommunicatorFactory factory_;
  PosixDisk disk_;
  const std::shared_ptr<const ModelProvider> provider_;
  Gathered gathered_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

void World::fill(const std::vector<StageParameter>& parameters) const {
  initialise(parameters, kSeed);
  for (const StageParameter& parameter : parameters) {
    const auto own = given_.weights.find(parameter.name);
    if (own == given_.weights.end()) continue;
    parameter.tensor.detach().copy_(block_of(own->second, parameter.layout.local_slice()));
  }
}

// Its samples in equal parts, along the sequence as the case says.
std::vector<RankBatch> World::batches_of(int rank) const {
  const std::int64_t samples = given_.batch.at("input_ids").size(0);
  const int parts = given_.mesh.data_parallel() * given_.microbatches;
  D9D_CHECK(samples % parts == 0, "{} samples are not divisible by {} microbatches", samples, parts);
  std::vector<RankBatch> batches;
  for (int i = 0; i < given_.microbatches; ++i) {
    const std::int64_t first = (plan_.placement(rank).data * given_.microbatches + i) * (samples / parts);
    const auto own = [&](const at::Tensor& whole) {
      return whole.narrow(0, first, samples / parts).contiguous();
    };
    RankBatch batch{{{"input_ids", own(given_.batch.at("input_ids"))}}, {}, 0};
    for (const auto& [name, tensor] : given_.batch) {
      if (name != "input_ids") batch.shared[name] = own(tensor);
    }
    if (given_.mesh.context_parallel() > 1) batch = given_.split_sequence(std::move(batch), plan_, rank);
    batch.weight = batch.shared.at("labels").ne(kIgnored).sum().item<double>();
    batches.push_back(std::move(batch));
  }
  return batches;
}

void World::step(StageCore& core, const StageUnits& units, const std::vector<RankBatch>& batches) const {
  std::vector<MicrobatchTensors> tensors;
  for (const RankBatch& batch : batches) tensors.push_back({batch.inputs, batch.shared, {}});
  core.begin_step(1, tensors);
  for (const ActionKind kind : {ActionKind::forward, ActionKind::backward}) {
    for (int i = 0; i < static_cast<int>(batches.size()); ++i) {
      core.run({kind, 0, i});
      if (kind != ActionKind::forward) units.end_action();
    }
  }
}

// The Collectives of a rank as they are in a job, asked on the rank's thread: bucket after bucket, as the
// stage completes them.
class Reductions {
 public:
  Reductions(const World& world, int rank, const std::shared_ptr<const FlatParameters>& flat)
      : flat_(*flat), sync_(*flat) {
    const auto gradients = std::make_shared<RankGradients>();
    gradients->parameters = flat;
    groups_ = gradient_groups(world.plan().domains(), world.options());
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      const auto opener = [&](const std::vector<std::string>& axes, const std::string& use) {
        if (axes.empty()) return OpenCommunicator();
        return OpenCommunicator([&world, rank, domain = groups_[i].domain, axes, use] {
          return world.open(rank, domain, axes, use);
        });
      };
      const std::string use = "gradients " + std::to_string(i);
      workers_.push_back(make_group_worker(
          {use, opener(groups_[i].scatter, use + " scattered"), opener(groups_[i].axes, use), gradients}));
      workers_.back()->prepare();
    }
  }

  void complete(std::size_t parameter, bool last) {
    for (const int index : sync_.complete(parameter, last)) {
      const GradientBucket& bucket = flat_.buckets()[static_cast<std::size_t>(index)];
      if (bucket.unit) bucket.unit->hand_over_gradient(last);
      const int group = gradient_group_index(groups_, bucket.scatter_axes(), bucket.reduce_axes);
      squares_ += workers_[static_cast<std::size_t>(group)]->reduce_bucket(index);
    }
  }

  // The rank's share of the squared norm.
  double squares() const {
    double sum = squares_;
    for (const GradientBucket& bucket : flat_.buckets()) {
      if (!bucket.needs_reduction()) sum += squares_share(bucket);
    }
    return sum;
  }

 private:
  const FlatParameters& flat_;
  GradientSync sync_;
  std::vector<GradientGroup> groups_;
  std::vector<std::shared_ptr<CollectiveWorker>> workers_;
  double squares_ = 0;
};

void World::run_rank(int rank) {
  at::set_num_threads(1);
  const auto groups =
      make_rank_groups(plan_, rank, [&](const auto& domain, const auto& axes, const auto& use) {
        return std::shared_ptr<Communicator>(factory_.open(rank, domain, axes, use));
      });
  const std::shared_ptr<StageModule> module = provider_->build_stage({0, 1});
  const auto flat = std::make_shared<const FlatParameters>(
      provider_->parallelize(*module, *groups, given_.options), flat_options(GradientManagerConfig{}));
  fill(flat->parameters());
  const StageUnits units(module->parameters(), flat->parameters());
  units.after_update();
  Reductions reductions(*this, rank, flat);

  const std::vector<RankBatch> batches = batches_of(rank);
  TensorTable table(64);
  StageCoreOptions core_options{.module = module};
  core_options.compute_loss = [&](const LastStageOutputs& out) {
    const double weight = batches[static_cast<std::size_t>(out.microbatch)].weight;
    const at::Tensor sum = out.outputs.at("cross_entropy").sum();
    return StageLoss{weight == 0 ? sum * 0 : sum / weight, weight};
  };
  core_options.on_parameter_complete = [&](std::size_t index) { reductions.complete(index, true); };
  if (units.reduce_each_microbatch()) {
    core_options.on_microbatch_gradient = [&](std::size_t index) { reductions.complete(index, false); };
  }
  core_options.before_weight_job = [&](const at::Tensor& weight, bool reads) {
    units.before_weight_job(weight, reads);
  };
  const auto core = make_stage_core(std::move(core_options), table);
  step(*core, units, batches);

  const StageTotals totals = core->finish_step();
  units.end_step();
  const bool counts_loss = plan_.placement(rank).tensor == 0;
  gathered_.add_totals(counts_loss ? totals.loss_sum : 0, counts_loss ? totals.weight_sum : 0,
                       reductions.squares());
  for (const StageParameter& parameter : flat->parameters()) gathered_.add_gradient(parameter);
}

double norm_of(const at::Tensor& tensor) {
  return tensor.to(at::kDouble).norm().item<double>();
}

}  // namespace

Trained train_once(const ParallelCase& given) {
  return World(given).run();
}

void expect_equal_training(const ParallelCase& given) {
  ParallelCase alone = given;
  alone.mesh = {};
  const Trained expected = train_once(alone);
  const Trained trained = train_once(given);
  EXPECT_NEAR(trained.loss, expected.loss, 1e-5 * expected.loss);
  EXPECT_NEAR(trained.norm, expected.norm, 1e-4 * expected.norm);
  ASSERT_EQ(trained.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients) {
    ASSERT_TRUE(trained.gradients.contains(name)) << name;
    ASSERT_EQ(trained.gradients.at(name).sizes(), gradient.sizes()) << name;
    EXPECT_LE(norm_of(trained.gradients.at(name) - gradient), 1e-4 * norm_of(gradient) + 1e-9) << name;
  }
}

Qwen3Config tiny_qwen3(ModelFamily family) {
  Qwen3Config config;
  config.family = family;
  config.vocab_size = 96;
  config.hidden_size = 32;
  config.intermediate_size = 48;
  config.num_hidden_layers = 2;
  config.num_attention_heads = 4;
  config.num_key_value_heads = 2;
  config.head_dim = 8;
  config.max_position_embeddings = 64;
  config.initializer_range = 0.1;  // gradients of different size, no flat softmax
  config.moe_intermediate_size = 24;
  config.num_experts = 4;
  config.num_experts_per_tok = 2;
  config.norm_topk_prob = true;
  return config;
}

TensorMap tiny_batch(const Qwen3Config& model, int samples, int length) {
  const RandomStream random(7, "tiny batch");
  const at::Tensor text = at::empty({samples, length + 1}, at::kLong);
  for (std::int64_t i = 0; i < text.numel(); ++i) {
    text.data_ptr<std::int64_t>()[i] = static_cast<std::int64_t>(
        random.below(static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(model.vocab_size)));
  }
  const at::Tensor labels = text.narrow(1, 1, length).clone();
  for (int sample = 0; sample < samples; ++sample) labels[sample].narrow(0, 0, sample % 5).fill_(kIgnored);
  return {{"input_ids", text.narrow(1, 0, length).contiguous()}, {"labels", labels}};
}

}  // namespace d9d::test

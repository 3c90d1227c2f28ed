// Called when d9d-node loads this library: a name in the job file -> the object that it makes.
#include "mine.hpp"

#include "actors/job/actor_registry.hpp"
#include "repeats.hpp"
#include "runtime/base/config/decode.hpp"
#include "runtime/task/registry.hpp"

extern "C" void d9d_register(d9d::Registry& registry) {
  using d9d::config::Section;
  registry.add_task("smoothed_lm", [](const Section& section) {
    return mine::make_smoothed_task(d9d::config::decode<mine::SmoothedConfig>(section));
  });
  registry.add_model("convolution_lm", [](const Section& section) {
    return mine::make_convolution_model(d9d::config::decode<mine::ConvolutionConfig>(section));
  });
  registry.add_optimizer("lion", [](const Section& section) {
    return mine::make_lion(d9d::config::decode<mine::LionConfig>(section));
  });
  registry.add_source("repeats", [](const Section& section, const d9d::SourceContext& context) {
    return mine::make_repeats(d9d::config::decode<mine::RepeatsConfig>(section), context);
  });
  registry.add_lr_schedule("inverse_root", [](const Section& section) {
    return mine::make_inverse_root(d9d::config::decode<mine::InverseRootConfig>(section));
  });
  registry.add_tracker("table", [](const Section& section) {
    return mine::make_table(d9d::config::decode<mine::TableConfig>(section));
  });
}

extern "C" void d9d_register_actors(d9d::ActorRegistry& registry) {
  registry.add("sampler", [](d9d::World& world, const d9d::config::Section& section) {
    return mine::make_sampler(world, d9d::config::decode<mine::SamplerConfig>(section));
  });
  registry.add("spike_guard", [](d9d::World& world, const d9d::config::Section& section) {
    return mine::make_spike_guard(world, d9d::config::decode<mine::GuardConfig>(section));
  });
}

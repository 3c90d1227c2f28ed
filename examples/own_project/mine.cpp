// Called when d9d-node loads this library.
#include "mine.hpp"

extern "C" void d9d_register(d9d::Registry& registry) {
  mine::add_convolution_model(registry);
  mine::add_inverse_root(registry);
  mine::add_lion(registry);
  mine::add_repeats(registry);
  mine::add_smoothed_task(registry);
  mine::add_table(registry);
}

extern "C" void d9d_register_actors(d9d::ActorRegistry& registry) {
  mine::add_sampler(registry);
  mine::add_spike_guard(registry);
}

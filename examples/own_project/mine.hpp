#pragma once
// The pieces of this library, a file each; every function adds one of them under the name that job files use.

namespace d9d {
class ActorRegistry;
class Registry;
}  // namespace d9d

namespace mine {

void add_convolution_model(d9d::Registry& registry);
void add_inverse_root(d9d::Registry& registry);
void add_lion(d9d::Registry& registry);
void add_repeats(d9d::Registry& registry);
void add_smoothed_task(d9d::Registry& registry);
void add_table(d9d::Registry& registry);

void add_sampler(d9d::ActorRegistry& registry);
void add_spike_guard(d9d::ActorRegistry& registry);

}  // namespace mine

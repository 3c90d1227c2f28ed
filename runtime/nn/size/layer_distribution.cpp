#include "runtime/nn/size/layer_distribution.hpp"

#include "runtime/base/count.hpp"
#include "runtime/base/error.hpp"

namespace d9d {

std::vector<LayerRange> distribute_layers(std::int64_t num_layers, int num_stages, std::int64_t virtual_pre,
                                          std::int64_t virtual_post) {
  D9D_REQUIRE(num_stages > 0, "the number of pipeline stages is {}, expected 1 or more", num_stages);
  D9D_REQUIRE(virtual_pre >= 0 && virtual_post >= 0,
              "virtual layers are {} before and {} after, expected 0 or more", virtual_pre, virtual_post);
  const std::int64_t all = num_layers + virtual_pre + virtual_post;
  std::vector<LayerRange> ranges;
  std::int64_t begin = 0;
  for (int stage = 0; stage < num_stages; ++stage) {
    std::int64_t count = all / num_stages + (stage < all % num_stages ? 1 : 0);
    if (stage == 0) count -= virtual_pre;
    if (stage == num_stages - 1) count -= virtual_post;
    D9D_REQUIRE(
        count > 0,
        "{} (with {} virtual before and {} after) on {} leave stage {} without a layer; use fewer stages "
        "or fewer virtual layers",
        counted(num_layers, "layer"), virtual_pre, virtual_post, counted(num_stages, "pipeline stage"),
        stage);
    ranges.push_back({begin, begin + count});
    begin += count;
  }
  return ranges;
}

}  // namespace d9d

#include "runtime/train/optimizer/block_place.hpp"

#include <algorithm>

#include "runtime/base/error.hpp"

namespace d9d {

kernels::BlockPlace block_place(const std::vector<std::int64_t>& global_shape, const Slice& slice) {
  const std::vector<std::int64_t> shape = slice.shape();
  kernels::BlockPlace place;
  std::int64_t stride = 1;
  bool whole_so_far = true;  // all later dimensions are whole
  for (std::size_t dim = shape.size(); dim-- > 0;) {
    place.base += slice.begin[dim] * stride;
    if (whole_so_far) {
      place.run *= shape[dim];
      whole_so_far = shape[dim] == global_shape[dim];
    } else {
      D9D_REQUIRE(place.dims < kernels::BlockPlace::dims_max,
                  "a tensor of {} dimensions: at most {} are placed", shape.size(),
                  kernels::BlockPlace::dims_max + 1);
      place.shape[place.dims] = shape[dim];
      place.stride[place.dims++] = stride;
    }
    stride *= global_shape[dim];
  }
  std::reverse(place.shape, place.shape + place.dims);
  std::reverse(place.stride, place.stride + place.dims);
  return place;
}

kernels::RandomKey key_of(const RandomStream& stream) {
  return {stream.key()[0], stream.key()[1], stream.step()};
}

}  // namespace d9d

#pragma once
// What the RankExecutor and the Collectives of a rank share: the gradient buckets. The RankExecutor makes them before it
// says Ready; a Collective touches a bucket between ReduceBucket and BucketReduced, the RankExecutor at all other
// times.

#include <memory>

namespace d9d {

class FlatParameters;

struct RankGradients {
  std::shared_ptr<const FlatParameters> parameters;
};

}  // namespace d9d

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "runtime/job/job_load.hpp"

namespace d9d {
namespace {

TEST(JobReference, IsTheCommittedOne) {
  std::ifstream file(D9D_SOURCE_DIR "/examples/config_reference.md", std::ios::binary);
  std::ostringstream committed;
  committed << file.rdbuf();

  EXPECT_EQ(committed.str(), job_reference())
      << "run: build/release/d9d-node check --reference > examples/config_reference.md";
}

}  // namespace
}  // namespace d9d

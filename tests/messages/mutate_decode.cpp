// Random mutations of the frames in the given folders, read to the last field; for compilers without
// libFuzzer. usage: mutate_decode ROUNDS [SEED] FOLDER...
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "tests/messages/read_bytes.hpp"

namespace {

using Bytes = std::vector<std::byte>;

void mutate(Bytes& bytes, std::mt19937_64& random) {
  const auto below = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  for (std::size_t changes = 1 + below(4); changes > 0 && !bytes.empty(); --changes) {
    switch (below(4)) {
      case 0:
        bytes[below(bytes.size())] = std::byte(random());
        break;
      case 1:
        bytes[below(bytes.size())] ^= std::byte(1U << below(8));
        break;
      case 2:
        bytes.resize(bytes.size() - below(std::min<std::size_t>(bytes.size(), 17)));
        break;
      default: {  // a word from elsewhere: pointers that point somewhere
        if (bytes.size() < 16) break;
        const std::size_t from = below(bytes.size() / 8) * 8;
        std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), 8,
                    bytes.begin() + static_cast<std::ptrdiff_t>(below(bytes.size() / 8) * 8));
      }
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return std::fputs("usage: mutate_decode ROUNDS [SEED] FOLDER...\n", stderr), 2;
  const std::string second = arguments[2];
  const bool given = second.find_first_not_of("0123456789") == std::string::npos;
  const std::uint64_t seed = given ? std::stoull(second) : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);

  std::vector<Bytes> corpus;
  for (int i = given ? 3 : 2; i < count; ++i) {
    for (const auto& file : std::filesystem::directory_iterator(arguments[i])) {
      if (file.is_regular_file()) corpus.push_back(d9d::test::bytes_of_file(file.path()));
    }
  }
  if (corpus.empty()) return std::fputs("no frames to start from\n", stderr), 2;

  std::mt19937_64 random(seed);
  std::size_t refused = 0;
  const std::size_t rounds = std::stoull(arguments[1]);
  for (std::size_t round = 0; round < rounds; ++round) {
    Bytes bytes = corpus[random() % corpus.size()];
    mutate(bytes, random);
    refused += d9d::test::read_bytes(bytes).refused;
  }
  std::printf("%zu frames, %zu refused\n", rounds, refused);
  return 0;
}

#include "runtime/data/source/text/token_cache.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "runtime/base/error.hpp"
#include "runtime/base/file/digest.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/data/corpus/chosen_documents.hpp"
#include "runtime/data/corpus/counted_files.hpp"
#include "runtime/data/corpus/megatron_writer.hpp"
#include "runtime/data/corpus/row_files.hpp"

namespace d9d {
namespace {

namespace fs = std::filesystem;

// Another one where the same texts would become other ids or files.
constexpr std::string_view cache_version = "d9d token cache 1";
constexpr std::size_t name_digits = 32;
constexpr const char* notes_name = "known";  // folder of the files' digests

enum class Notes { are_read, are_written };

[[noreturn]] void fail_to_make(const fs::path& path, const std::string& why) {
  throw Error(ErrorKind::environment, fmt::format("data.cache: cannot make {}: {}", path.string(), why));
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail_to_make(path, error.message());
}

// Unique among the processes of all hosts that share the folder.
std::string own_suffix() {
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return fmt::format(".tmp-{}-{}", host.data(), ::getpid());
}

void write_renamed(const fs::path& path, const std::string& text) {
  const std::string temporary = path.string() + own_suffix();
  std::ofstream(temporary, std::ios::binary) << text;
  if (std::rename(temporary.c_str(), path.c_str()) != 0) fail_to_make(path, std::strerror(errno));
}

// Texts of hundreds of gigabytes are not read to know them again: a note has the digest of a file under its
// path, length and time of change.
std::string digest_of(const fs::path& file, const fs::path& cache, Notes notes) {
  std::error_code error;
  const auto size = fs::file_size(file, error);
  const auto changed = fs::last_write_time(file, error).time_since_epoch().count();
  if (error) return sha256_of_file(file);  // which says what is wrong with it
  const std::string known = sha256_of(fmt::format("{}\n{}\n{}", fs::absolute(file).string(), size, changed));
  const fs::path note = cache / notes_name / known.substr(0, name_digits);
  std::string digest;
  if (std::ifstream in(note); in >> digest && digest.size() == 2 * name_digits) return digest;
  digest = sha256_of_file(file);
  if (notes == Notes::are_written) {
    make_folder(note.parent_path());
    write_renamed(note, digest + "\n");
  }
  return digest;
}

// What the ids are made of.
config::Json origin_of(const TokenRecipe& recipe, Notes notes) {
  config::Json origin = {{"version", cache_version}};
  origin.update(recipe.keys);
  origin["files"] = config::Json::array();
  for (const std::string& file : recipe.files) {
    origin["files"].push_back(digest_of(file, *recipe.cache, notes));
  }
  return origin;
}

fs::path folder_of(const TokenRecipe& recipe, const config::Json& origin) {
  return fs::path(*recipe.cache) / sha256_of(shown_json(origin)).substr(0, name_digits);
}

std::string prefix_in(const fs::path& folder) {
  return (folder / "tokens").string();
}

void write_tokens(const TokenRecipe& recipe, const fs::path& folder, const TokenProgress& progress) {
  const std::uint64_t all = bytes_of_files(recipe);
  MegatronWriter writer(prefix_in(folder), recipe.vocab_size);
  RowFilesWriter rows(prefix_in(folder), recipe.files);
  std::optional<CountedWriter> counted;
  if (recipe.some_count) counted.emplace(prefix_in(folder));
  recipe.make([&](const MadeDocument& document) {
    writer.add_document(document.ids);
    if (!document.ids.empty()) rows.add(document.place);
    if (counted) counted->add(*document.counted);
    progress(document.bytes_read, all);
  });
  D9D_REQUIRE(writer.num_tokens() > 0, "data.files: there is no text in them");
  writer.finish();
  rows.finish();
  if (counted) counted->finish();
}

// Where another process was faster, its folder stays.
void commit(const fs::path& temporary, const fs::path& folder) {
  if (std::rename(temporary.c_str(), folder.c_str()) == 0) return;
  const int error = errno;
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  if (error != ENOTEMPTY && error != EEXIST) fail_to_make(folder, std::strerror(error));
}

}  // namespace

std::shared_ptr<const TokenCorpus> find_tokens(const TokenRecipe& recipe) {
  if (!recipe.cache || !fs::is_directory(*recipe.cache)) return nullptr;
  const fs::path folder = folder_of(recipe, origin_of(recipe, Notes::are_read));
  if (!fs::exists(folder)) return nullptr;
  return with_rows(open_counted_files(prefix_in(folder), {}), prefix_in(folder), recipe.files,
                   recipe.ids_below);
}

PreparedTokens prepare_tokens(const TokenRecipe& recipe, const TokenProgress& progress) {
  D9D_CHECK(recipe.cache, "tokens without a cache");
  const config::Json origin = origin_of(recipe, Notes::are_written);
  const fs::path folder = folder_of(recipe, origin);
  if (fs::exists(folder)) return {prefix_in(folder), false};
  const fs::path temporary = folder.string() + own_suffix();
  make_folder(temporary);
  try {
    write_tokens(recipe, temporary, progress);
    write_renamed(temporary / "origin.json", shown_json(origin, 2) + "\n");
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw;
  }
  commit(temporary, folder);
  return {prefix_in(folder), true};
}

std::shared_ptr<const TokenCorpus> corpus_of(const TokenRecipe& recipe, const Clock& clock) {
  if (auto cached = find_tokens(recipe)) return chosen_documents(std::move(cached), recipe.rows);
  if (recipe.cache) {
    log::warn(
        "data.cache: {} has no tokens of these files, so they are made now and kept in memory; "
        "`d9d-node data prepare` makes them once for all runs",
        *recipe.cache);
  }
  return chosen_documents(made_corpus(recipe, clock), recipe.rows);
}

}  // namespace d9d

#include "actors/notes/failure_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace d9d {
namespace {

// "checkpoint_writer/1" -> "the checkpoint writer of node 1"
std::string place_of(const std::string& actor, int rank) {
  const std::size_t slash = std::min(actor.find('/'), actor.size());
  const std::string role = actor.substr(0, slash);
  const std::string index = actor.substr(std::min(slash + 1, actor.size()));
  std::string words = role;
  std::replace(words.begin(), words.end(), '_', ' ');
  if (role == "node") return "node " + index;
  if (role == "user") return fmt::format("actors.{} of the job file", index);
  if (rank >= 0) return fmt::format("the {} of rank {}", words, rank);
  if (role == "checkpoint_writer" || role == "trace_collector") {
    return fmt::format("the {} of node {}", words, index);
  }
  return "the " + words;
}

std::string sentence(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (!text.empty() && std::string_view(".?!").find(text.back()) == std::string_view::npos) text += '.';
  return text;
}

}  // namespace

std::string failure_text(wire::Failed::Reader failed) {
  const bool bug = failed.getKind() == wire::Failed::Kind::BUG;
  const std::string actor = failed.getActor();
  const std::string step =
      failed.getStep() == 0 ? "before the first step" : fmt::format("step {}", failed.getStep());
  std::string text = (bug ? "bug: " : "") + sentence(failed.getText());
  if (actor.empty()) return text;
  text += fmt::format(" In {}, {}", place_of(actor, failed.getRank()), step);
  // The actor and the message help the person who repairs d9d or the plugin.
  if (bug) text += fmt::format(", in {} while handling {}", actor, std::string(failed.getMessage()));
  return text + ".";
}

std::string next_start_text(const std::string& last_checkpoint) {
  if (last_checkpoint.empty()) {
    return "No checkpoint was committed: started again the job begins with step 1";
  }
  return fmt::format("Start the job again: it goes on from {}", last_checkpoint);
}

}  // namespace d9d

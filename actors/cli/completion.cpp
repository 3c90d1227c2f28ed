#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "actors/cli/manual.hpp"

namespace d9d {
namespace {

// What may stand at a place of the command line. Neither words nor a file: a text that no shell can guess.
struct Place {
  std::vector<std::string> words;
  bool file = false;
};

// Of "list|verify DIR": a word in lower case stands for itself, the others say what is meant.
Place place_of(const std::string& text) {
  Place place{.words = {}, .file = names_path(text)};
  std::string word;
  for (const char c : text + " ") {
    if (std::string_view(" |[]").find(c) == std::string_view::npos) {
      word += c;
      continue;
    }
    const bool itself =
        std::ranges::all_of(word, [](unsigned char l) { return std::islower(l) != 0 || l == '_'; });
    if (itself && !word.empty()) place.words.push_back(word);
    word.clear();
  }
  return place;
}

std::vector<OptionSpec> options_of(const Command& command) {
  std::vector<OptionSpec> options = command.options;
  for (const auto& [name, meaning] : common_options()) options.push_back({name, "", meaning});
  return options;
}

// Within '...' of a shell: bash and zsh end the quotes for a quote, fish has an escape.
std::string shell_word(const std::string& text, bool fish = false) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += fish ? "\\'" : "'\\''";
    } else {
      out += fish && c == '\\' ? "\\\\" : std::string(1, c);
    }
  }
  return out + "'";
}

std::string joined(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

std::vector<std::string> names_of(const std::vector<Command>& commands) {
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.name);
  return names;
}

// The branch of the command: what follows an option, and what begins a word.
std::string bash_branch(const Command& command) {
  std::string text = "      case \"$before\" in\n";
  std::vector<std::string> names;
  for (const OptionSpec& option : options_of(command)) {
    names.push_back(option.name);
    if (option.value.empty()) continue;
    const Place place = place_of(option.value);
    text += fmt::format("        {}) words={} files={} options='' ;;\n", option.name,
                        shell_word(joined(place.words)), place.file ? "yes" : "''");
  }
  const Place place = place_of(command.positional);
  return text + fmt::format("        *) words={} files={} options={} ;;\n      esac ;;\n",
                            shell_word(joined(place.words)), place.file ? "yes" : "''",
                            shell_word(joined(names)));
}

std::string bash(const CommandLine& program) {
  std::string text =
      "_d9d_node() {\n"
      "  local word=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD - 1]}\" words files "
      "options\n"
      "  case \"${COMP_WORDS[1]}\" in\n";
  for (std::size_t i = 1; i < program.commands.size(); ++i)
    text += fmt::format("    {})\n{}", program.commands[i].name, bash_branch(program.commands[i]));
  text += "    *)\n" + bash_branch(program.commands.front());
  return text + fmt::format(
                    "  esac\n"
                    "  [ \"$COMP_CWORD\" != 1 ] || words={0}\n"
                    "  mapfile -t COMPREPLY < <(\n"
                    "    case \"$word\" in -*) words=\"$options\" files='' ;; esac\n"
                    "    compgen -W \"$words\" -- \"$word\"\n"
                    "    [ -z \"$files\" ] || compgen -f -- \"$word\")\n"
                    "}}\n"
                    "complete -o filenames -F _d9d_node {1}\n",
                    shell_word(joined(names_of(program.commands))), program.name);
}

// In a text of _arguments and _describe a colon parts, and brackets end.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view(":[]\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_action(const std::string& value) {
  const Place place = place_of(value);
  if (!place.words.empty()) return "(" + joined(place.words) + ")";
  return place.file ? "_files" : " ";
}

std::string zsh_branch(const Command& command) {
  std::string text = "      _arguments";
  for (const OptionSpec& option : options_of(command)) {
    std::string spec = (option.repeated ? "*" : "") + option.name;
    if (!option.value.empty()) spec += "=";
    spec += "[" + zsh_text(option.meaning) + "]";
    if (!option.value.empty()) spec += ":" + zsh_text(option.value) + ":" + zsh_action(option.value);
    text += " \\\n        " + shell_word(spec);
  }
  const Place place = place_of(command.positional);
  const std::string what = ":" + zsh_text(command.positional) + ":";
  if (!place.words.empty()) text += " \\\n        " + shell_word("1" + what + zsh_action(command.positional));
  if (place.file) text += " \\\n        " + shell_word("*" + what + "_files");
  return text + " ;;\n";
}

std::string zsh(const CommandLine& program) {
  std::string text = fmt::format(
      "#compdef {0}\ncompdef _{0} {0}\n_{0}() {{\n"
      "  local -a commands=(\n",
      program.name);
  for (const Command& command : program.commands)
    text += "    " + shell_word(command.name + ":" + zsh_text(command.summary)) + "\n";
  text +=
      "  )\n"
      "  if (( CURRENT == 2 )) && [[ \"$words[2]\" != -* ]]; then\n"
      "    _describe -t commands command commands\n"
      "    _files\n"
      "    return\n"
      "  fi\n"
      "  case \"$words[2]\" in\n";
  for (const Command& command : program.commands) {
    text += fmt::format("    {})\n      shift words\n      (( CURRENT -= 1 ))\n{}", command.name,
                        zsh_branch(command));
  }
  return text + "    *)\n" + zsh_branch(program.commands.front()) +
         fmt::format("  esac\n}}\nif [ \"$funcstack[1]\" = _{0} ]; then _{0} \"$@\"; fi\n", program.name);
}

std::string fish(const CommandLine& program) {
  std::string text;
  const std::string begin = "complete -c " + program.name + " -n ";
  const std::vector<std::string> names = names_of(program.commands);
  for (const Command& command : program.commands) {
    text += fmt::format("{}__fish_use_subcommand -a {} -d {}\n", begin, command.name,
                        shell_word(command.summary, true));
    // Without a command the first one is meant.
    const bool standard = &command == &program.commands.front();
    const std::string others = joined({names.begin() + 1, names.end()});
    const std::string when = begin + shell_word(standard ? "not __fish_seen_subcommand_from " + others
                                                         : "__fish_seen_subcommand_from " + command.name);
    const Place place = place_of(command.positional);
    if (!place.file) text += when + " -f\n";
    if (!place.words.empty()) text += when + " -a " + shell_word(joined(place.words)) + "\n";
    for (const OptionSpec& option : options_of(command)) {
      const Place value = place_of(option.value);
      text += fmt::format("{} -l {}", when, option.name.substr(2));
      if (!option.value.empty()) text += value.file ? " -r -F" : " -x";
      if (!value.words.empty()) text += " -a " + shell_word(joined(value.words));
      text += " -d " + shell_word(option.meaning, true) + "\n";
    }
  }
  return text;
}

}  // namespace

std::string completion_of(const CommandLine& program, const std::string& shell) {
  const std::string from = fmt::format("# Made by `{} completion {}`.\n", program.name, shell);
  if (shell == "fish") return from + fish(program);
  return shell == "bash" ? from + bash(program) : zsh(program);  // zsh reads its first line
}

}  // namespace d9d

#include "runtime/live/request_rules.hpp"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "runtime/base/host/network.hpp"

namespace d9d::live {
namespace {

constexpr std::size_t shown_max = 100;  // of what a stranger writes

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string without_last_dot(std::string text) {
  if (text.size() > 1 && text.ends_with('.')) text.pop_back();
  return text;
}

bool is_port(std::string_view text) {
  return text.empty() ||
         (text.front() == ':' &&
          std::all_of(text.begin() + 1, text.end(), [](unsigned char c) { return std::isdigit(c) != 0; }));
}

// "[::1]:8080" -> ::1, "host:8080" -> host; empty for what is written otherwise.
std::string host_of(const std::string& text) {
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string::npos || !is_port(std::string_view(text).substr(end + 1))) return {};
    const std::string address = text.substr(1, end - 1);
    return is_numeric(address) ? address : std::string();
  }
  const std::size_t end = std::min(text.find(':'), text.size());
  return is_port(std::string_view(text).substr(end)) ? without_last_dot(lower(text.substr(0, end)))
                                                     : std::string();
}

// Takes as long for a token that is nearly right as for any other of its length.
bool is_bearer_of(const std::string& authorization, const std::string& token) {
  const std::string scheme = "bearer ";
  if (lower(authorization.substr(0, scheme.size())) != scheme) return false;
  const std::string_view given = std::string_view(authorization).substr(scheme.size());
  return given.size() == token.size() && CRYPTO_memcmp(given.data(), token.data(), token.size()) == 0;
}

}  // namespace

bool means_this_page(const std::string& host, const std::string& own_host) {
  const std::string name = host_of(host);
  if (name.empty()) return false;
  return name == "localhost" || is_numeric(name) || name == without_last_dot(lower(own_host));
}

bool may_act(const Asked& asked, const Rules& rules) {
  if (asked.from_loopback && !asked.is_passed_on) return true;
  return !rules.token.empty() && is_bearer_of(asked.authorization, rules.token);
}

std::optional<HttpAnswer> refusal(const Asked& asked, const Rules& rules) {
  if (asked.host.empty()) return said(400, "refused: the request has no header Host");
  if (!means_this_page(asked.host, rules.own_host)) {
    return said(
        421, fmt::format("refused: this page is not {}; ask for it by address, as localhost, or by the name "
                         "in node.status",
                         asked.host.substr(0, shown_max)));
  }
  if (!asked.acts) return std::nullopt;
  const bool from_here = asked.origin.empty() || asked.origin == "http://" + asked.host ||
                         asked.origin == "https://" + asked.host;
  if (!from_here) return said(403, "refused: asked by a page of " + asked.origin.substr(0, shown_max));
  if (may_act(asked, rules)) return std::nullopt;
  return said(
      403, rules.token.empty()
               ? "refused: only programs of node 0's host may ask for this; others need the job's token, and "
                 "this job has no node.job_token"
               : "refused: only programs of node 0's host may ask for this, or who has the job's token "
                 "(header \"Authorization: Bearer TOKEN\", with node.job_token)");
}

}  // namespace d9d::live

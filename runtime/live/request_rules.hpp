#pragma once
// Which requests are answered, and which are refused with a sentence. A browser sends requests here for any page that it
// shows, also for one whose name its owner has pointed at this host, so that requests have to say whom they mean.

#include <optional>
#include <string>

#include "runtime/live/http_answer.hpp"

namespace d9d::live {

struct Asked {
  bool acts = false;           // a POST: it changes something
  std::string host;            // header Host; empty: none
  std::string origin;          // header Origin: the page that asks; empty: no page
  std::string authorization;   // header Authorization
  bool from_loopback = false;  // the other end of the connection
  bool is_passed_on = false;   // by a proxy, for somebody who may be anywhere
};

struct Rules {
  std::string own_host;  // that of node.status
  std::string token;     // of the job; empty: there is none
};

// An address, localhost, or `own_host`, with any port or none: no other name is safe from who owns it.
bool means_this_page(const std::string& host, const std::string& own_host);

// Who asks is on this host, or has the job's token ("Authorization: Bearer TOKEN").
bool may_act(const Asked& asked, const Rules& rules);

// 400 without a host, 421 for a foreign one, 403 for a page from elsewhere and for an act of somebody who may not.
// Nothing: the request is answered.
std::optional<HttpAnswer> refusal(const Asked& asked, const Rules& rules);

}  // namespace d9d::live

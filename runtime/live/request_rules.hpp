#pragma once
// Decides which requests are answered and which are refused with a sentence. A browser sends
// requests here for any page that it shows, even for one whose owner has pointed a name at this
// host. So a request must name the host that it means.

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
  bool is_passed_on = false;   // by a proxy, for a client on any host
};

struct Rules {
  std::string own_host;  // that of node.status
  std::string token;     // of the job; empty: there is none
};

// Whether `host` is an address, localhost or `own_host`, with any port or none. The owner of any
// other name could point it here.
bool means_this_page(const std::string& host, const std::string& own_host);

// Whether the client is on this host or has the job's token ("Authorization: Bearer TOKEN").
bool may_act(const Asked& asked, const Rules& rules);

// Returns the refusal: 400 without a host, 421 for a foreign one, 403 for another site's page and
// for an action without permission. Nothing: the request is answered.
std::optional<HttpAnswer> refusal(const Asked& asked, const Rules& rules);

}  // namespace d9d::live

#pragma once
// The answer to a request over HTTP.

#include <string>

namespace d9d::live {

struct HttpAnswer {
  int status = 200;
  std::string type;  // of the body: "text/html; charset=utf-8"
  std::string body;
};

inline constexpr const char* plain_text = "text/plain; charset=utf-8";

inline HttpAnswer said(int status, const std::string& sentence) {
  return {.status = status, .type = plain_text, .body = sentence + "\n"};
}

}  // namespace d9d::live

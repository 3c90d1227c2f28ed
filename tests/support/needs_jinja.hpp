#pragma once
// Chat templates run in Python's jinja2 (.ci/deps). Tests of them skip themselves where a host has none.

#include <gtest/gtest.h>

#include "runtime/base/error.hpp"
#include "runtime/data/chat/template_renderer.hpp"

namespace d9d::test {

inline bool has_jinja() {
  static const bool has = [] {
    try {
      ChatTemplate nothing;
      nothing.texts["default"] = "";
      const TemplateRenderer renderer(nothing, {});
      return true;
    } catch (const Error&) {
      return false;
    }
  }();
  return has;
}

}  // namespace d9d::test

#define D9D_NEEDS_JINJA() \
  if (!::d9d::test::has_jinja()) GTEST_SKIP() << "no python3 with jinja2: bash .ci/deps"

import { expect, test } from 'vitest'
import { purls } from '../../../test/support/contents.ts'
import { otherReaders } from './readers.ts'

test.each([
  [
    'Podfile.lock',
    'PODS:\n  - AFNetworking (4.0.1):\n    - AFNetworking/NSURLSession (= 4.0.1)\n  - AFNetworking/NSURLSession (4.0.1)\n  - "GoogleUtilities/Logger (7.0.0)"\n\nDEPENDENCIES:\n  - No (1.0)\n',
    ['pkg:cocoapods/AFNetworking@4.0.1 declared certain', 'pkg:cocoapods/GoogleUtilities@7.0.0 declared certain'],
  ],
  [
    'conan.lock',
    '{"version": "0.5", "requires": ["zlib/1.2.11#abc%1.5", "openssl/1.1.1k@user/channel", 7]}',
    ['pkg:conan/zlib@1.2.11 declared certain', 'pkg:conan/openssl@1.1.1k declared certain'],
  ],
  [
    'conan.lock',
    '{"graph_lock": {"nodes": {"0": {"options": ""}, "1": {"ref": "zlib/1.2.11#abc"}, "2": null}}}',
    ['pkg:conan/zlib@1.2.11 declared certain'],
  ],
  [
    'gradle.lockfile',
    '# comment\norg.apache.commons:commons-text:1.9=compileClasspath,runtimeClasspath\nempty=annotationProcessor\n',
    ['pkg:maven/org.apache.commons/commons-text@1.9 declared certain'],
  ],
  [
    '.terraform.lock.hcl',
    'provider "registry.terraform.io/hashicorp/aws" {\n  version     = "4.0.0"\n  constraints = "~> 4.0"\n}\n',
    ['pkg:terraform/registry.terraform.io/hashicorp/aws@4.0.0 declared certain'],
  ],
  [
    'deno.lock',
    '{"version": "4", "npm": {"@a/b@1.0.0": {}, "chalk@5.3.0_peer@1.0.0": {}}}',
    ['pkg:npm/%40a/b@1.0.0 declared certain', 'pkg:npm/chalk@5.3.0 declared certain'],
  ],
  ['deno.lock', '{"version": "3", "packages": {"npm": {"chalk@5.3.0": {}}}}', ['pkg:npm/chalk@5.3.0 declared certain']],
  [
    'usr/local/lib/luarocks/rocks-5.1/luasec/0.7-1/luasec-0.7-1.rockspec',
    'package = "luasec"\nversion = "0.7-1"\n',
    ['pkg:luarocks/luasec@0.7-1 shipped certain'],
  ],
  [
    'srv/www/wp-content/plugins/akismet/akismet.php',
    '<?php\n/**\n * Plugin Name: Akismet\n * Version: 4.1.2\n */\n',
    ['pkg:wordpress-plugin/akismet@4.1.2 shipped certain'],
  ],
  [
    'root/.opam/default/.opam-switch/packages/lwt.5.6.1/opam',
    'opam-version: "2.0"\n',
    ['pkg:opam/lwt@5.6.1 shipped certain'],
  ],
])('%s', async (path, text, expected) => {
  expect(await purls(otherReaders, path, text)).toEqual(expected)
})

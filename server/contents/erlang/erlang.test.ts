import { expect, test } from 'vitest'
import { findings, purls } from '../../../test/support/contents.ts'
import { erlangReaders } from './readers.ts'

const names = (path: string, text: string) => purls(erlangReaders, path, text)

test.each([
  [
    '{application, cowboy, [\n {description, "x"},\n {vsn, "2.9.0"},\n {modules,[]}]}.',
    ['pkg:hex/cowboy@2.9.0 shipped certain'],
  ],
  ['{application,\'phoenix\',[{vsn,"v1.6.0"}]}.', ['pkg:hex/phoenix@1.6.0 shipped certain']],
  [
    '{application, ssl, [{vsn,"10.9"}]}.',
    ['pkg:otp/ssl@10.9 shipped certain: It is a part of Erlang/OTP, which has advisories of its own.'],
  ],
  [
    '{application, elixir, [{vsn,"1.14.0"}]}.',
    ['pkg:otp/elixir@1.14.0 shipped certain: It is a part of Elixir, which has advisories of its own.'],
  ],
  ['{application, x, [{vsn, git}]}.', []],
])('%j', async (text, expected) => {
  expect(await names('opt/app/lib/x-1/ebin/x.app', text)).toEqual(expected)
})

test('mix.lock: the name of the package, not of the key', async () => {
  const text = `%{
  "cowboy": {:hex, :cowboy, "2.9.0", "865dd8b6", [:make, :rebar3], [{:cowlib, "2.11.0", [hex: :cowlib]}], "hexpm", "2c72"},
  "alias": {:hex, :"real_name", "1.0.0", "x", [:mix], [], "hexpm", "x"},
  "fork": {:git, "https://host/fork.git", "abc", []},
}
`
  expect(await names('srv/app/mix.lock', text)).toEqual([
    'pkg:hex/cowboy@2.9.0 declared certain',
    'pkg:hex/real_name@1.0.0 declared certain',
  ])
  expect(await findings(erlangReaders, 'srv/app/deps/cowboy/mix.lock', text)).toBe('not wanted')
})

test('rebar.lock', async () => {
  const text =
    '{"1.2.0",\n[{<<"cowboy">>,{pkg,<<"cowboy">>,<<"2.9.0">>},0},\n {<<"fork">>,{git,"https://x",{ref,"abc"}},0},\n {<<"ranch">>,{pkg,<<"ranch">>,<<"1.8.0">>},1}]}.\n[{pkg_hash,[{<<"cowboy">>, <<"865DD8B6">>}]}].\n'
  expect(await names('rebar.lock', text)).toEqual([
    'pkg:hex/cowboy@2.9.0 declared certain',
    'pkg:hex/ranch@1.8.0 declared certain',
  ])
})

test('hostile text is read in time', async () => {
  for (const part of ['{vsn ', '{application,', '{pkg, <<"', '  "']) {
    const text = part.repeat(200_000)
    for (const path of ['mix.lock', 'rebar.lock', 'ebin/x.app'])
      expect(await names(path, path === 'ebin/x.app' ? text.slice(0, 2 ** 20) : text)).toEqual([])
  }
}, 10_000)

import { fileNameOf, textReader } from '../text-file.ts'
import { hexFound } from './hex-found.ts'

// the applications of Erlang/OTP 24 to 28, and those of Elixir. Source: erlang.org/doc/applications.html
const OTP = new Set(
  `asn1 common_test compiler crypto debugger dialyzer diameter edoc eldap erl_docgen erl_interface erts et eunit ftp
  inets jinterface kernel megaco mnesia observer odbc os_mon parsetools public_key reltool runtime_tools sasl snmp ssh
  ssl stdlib syntax_tools tftp tools wx xmerl`.split(/\s+/),
)
const ELIXIR = new Set('eex elixir ex_unit iex logger mix'.split(' '))

const VERSION = /\{\s{0,20}vsn\s{0,20},\s{0,20}"([^"]{1,100})"\s{0,20}\}/
const NAME = /\{\s{0,20}application\s{0,20},\s{0,20}'?([a-z]\w{0,100})'?\s{0,20},/

function unaskedOf(name: string): string | undefined {
  if (OTP.has(name)) return 'It is a part of Erlang/OTP, which has advisories of its own.'
  return ELIXIR.has(name) ? 'It is a part of Elixir, which has advisories of its own.' : undefined
}

/** A compiled application of Erlang or Elixir: `ebin/cowboy.app`. Source: erlang.org, app(4) */
export const application = textReader({
  id: 'erlang-app',
  path: /(?:^|\/)ebin\/[^/]+\.app$/,
  most: 2 ** 20,
  read(text, path) {
    const name = NAME.exec(text)?.[1] ?? fileNameOf(path).slice(0, -'.app'.length)
    const unasked = unaskedOf(name)
    const version = VERSION.exec(text)?.[1] ?? ''
    const about = { presence: 'shipped', rule: 'erlang-app' } as const
    return unasked === undefined
      ? hexFound(name, version, about)
      : hexFound(name, version, { ...about, unasked }, 'otp')
  },
})

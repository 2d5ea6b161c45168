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

function unaskedOf(name: string): { readonly unasked?: string } {
  if (OTP.has(name)) return { unasked: 'It is a part of Erlang/OTP, which has advisories of its own.' }
  return ELIXIR.has(name) ? { unasked: 'It is a part of Elixir, which has advisories of its own.' } : {}
}

/** A compiled application of Erlang or Elixir: `ebin/cowboy.app`. Source: erlang.org, app(4) */
export const application = textReader({
  id: 'erlang-app',
  path: /(?:^|\/)ebin\/[^/]+\.app$/,
  most: 2 ** 20,
  read(text, path) {
    const name = NAME.exec(text)?.[1] ?? fileNameOf(path).slice(0, -'.app'.length)
    const about = { presence: 'shipped', rule: 'erlang-app', ...unaskedOf(name) } as const
    return hexFound(name, VERSION.exec(text)?.[1] ?? '', about)
  },
})

import type { Found, Reader } from '../reader.ts'
import { textReader } from '../text-file.ts'

const shipped = (type: string, name: string, version: string, rule: string, namespace?: string): Found[] =>
  name === '' || version === ''
    ? []
    : [
        {
          type,
          ...(namespace === undefined ? {} : { namespace }),
          name,
          version,
          presence: 'shipped',
          rule,
          confidence: 'certain',
        },
      ]

/** Installed rocks of Lua: `rocks-5.1/name/version/name-version.rockspec`. Source: luarocks.org, rockspec format */
const rockspec = textReader({
  id: 'rockspec',
  path: /(?:^|\/)rocks(?:-[\d.]+)?\/[^/]+\/[^/]+\/[^/]+\.rockspec$/,
  most: 2 ** 20,
  read(text) {
    const field = (key: string): string =>
      new RegExp(`^${key}\\s{0,9}=\\s{0,9}["']([^"'\\n]{1,200})["']`, 'm').exec(text)?.[1] ?? ''
    return shipped('luarocks', field('package'), field('version'), 'rockspec')
  },
})

/** A plugin of WordPress, by the head of its main file. Source: developer.wordpress.org, header requirements */
const wordpressPlugin = textReader({
  id: 'wordpress-plugin',
  path: (path, head) =>
    /(?:^|\/)wp-content\/plugins\/[^/]+\/[^/]+\.php$/.test(path) && /Plugin Name:/i.test(head.toString('latin1')),
  most: 4 * 2 ** 20,
  read(text, path) {
    const version = /^[\s*#@]{0,20}Version:[ \t]{0,9}([\w.+-]{1,50})/im.exec(text.slice(0, 8192))?.[1] ?? ''
    return shipped('wordpress-plugin', path.split('/').at(-2) ?? '', version, 'wordpress-plugin')
  },
})

/** An installed package of opam: `.opam-switch/packages/name.version/opam`. Source: opam.ocaml.org, manual, opamroot */
const opam = textReader({
  id: 'opam',
  path: /(?:^|\/)\.opam-switch\/packages\/[^/.]+\.[^/]+\/opam$/,
  read(_, path) {
    const [, name = '', version = ''] = /\/([^/.]+)\.([^/]+)\/opam$/.exec(path) ?? []
    return shipped('opam', name, version, 'opam')
  },
})

/** Installed packages of Lua, OCaml and WordPress. */
export const otherInstalled: readonly Reader[] = [rockspec, wordpressPlugin, opam]

import type { Reader } from '../reader.ts'
import { fileNameOf } from '../text-file.ts'
import { npmFound } from './npm-found.ts'

// `/*! jQuery v1.12.4 |`, `/*!\n * Bootstrap v3.3.7 (`, `/**\n * @license AngularJS v1.6.0`
const BANNER =
  /^\s{0,9}\/\*[!*]?[\s*]{0,9}(?:@license\s)?([A-Za-z][\w.-]{0,40})(?: (?:JavaScript Library|JS))?,? (?:v|version )(\d{1,4}\.\d{1,4}\.\d{1,4}(?:-[\w.]{1,20})?)(?=[\s|(,;*]|$)/i

/** A script that says in its first comment what it is: copies and bundles. It is listed, and not asked about. */
export const banner: Reader = {
  id: 'npm-banner',
  wants: ({ path, head }) => /\.m?js$/.test(fileNameOf(path)) && BANNER.test(head.toString('latin1')),
  async read({ head }) {
    const [, name = '', version = ''] = BANNER.exec(head.toString('latin1')) ?? []
    return {
      found: npmFound(name.toLowerCase().replace(/\.js$/, ''), version, {
        presence: 'shipped',
        rule: 'npm-banner',
        confidence: 'probable',
        unasked: 'Only a comment in the script says so: what the rest of it holds is not known.',
      }),
    }
  },
}

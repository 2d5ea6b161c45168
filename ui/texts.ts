import toRuntime, { type CatalogModule } from 'wuchale/runtime'
import { language } from './language.ts'

// awaited here: what is said at the top of a module is in the language already
const catalogue: CatalogModule = await (language === 'de' ? import('virtual:texts/de') : import('virtual:texts/en'))

/** The texts of the page's language; the build puts a use of it where a text stands in the source. */
export const texts = toRuntime(catalogue, language)

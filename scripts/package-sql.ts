import type { Rule } from 'eslint'

/** The tables that the catalogue owns. */
const TABLE = '(?:package(?:_\\w+)?|artifact|finding|decision|sla_breach|tag)'

/** Statements on them, and the parts from which such statements are put together. */
const STATEMENTS: readonly RegExp[] = [
  `\\b(?:select|delete|truncate)\\b[\\s\\S]*?\\bfrom\\s+${TABLE}\\b`,
  `^\\s*from\\s+${TABLE}\\b(?:\\s+\\w+)?\\s*(?:$|,|\\$|\\b(?:where|join|left|group|order)\\b)`,
  `\\bjoin\\s+${TABLE}\\b[\\s\\S]*?\\b(?:on|using)\\b`,
  `\\b(?:insert\\s+into|truncate)\\s+${TABLE}\\b`,
  `\\bupdate\\s+${TABLE}\\b(?:\\s+\\w+)?\\s+set\\b`,
].map(pattern => new RegExp(pattern, 'i'))

/** Whether a text is a statement on packages, or a part of one. */
const isPackageSql = (text: string): boolean => STATEMENTS.some(statement => statement.test(text))

/** Refuses SQL on packages: `eslint.config.js` lists the files that may hold it. */
export const packageSql: Rule.RuleModule = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      elsewhere:
        'Statements on packages live in server/catalog/queries/<noun>.ts, each a function that takes the viewer. Move this one there and call it.',
    },
  },
  create: context => ({
    Literal: node => {
      if (typeof node.value === 'string' && isPackageSql(node.value)) context.report({ node, messageId: 'elsewhere' })
    },
    TemplateLiteral: node => {
      // what is put in is no table's name; a sign stands for it
      const text = node.quasis.map(({ value }) => value.cooked ?? value.raw).join(' $ ')
      if (isPackageSql(text)) context.report({ node, messageId: 'elsewhere' })
    },
  }),
}

"""
Asks dnf what it would install: one JSON object a line in, a list of answers a line out, one for each question, each a
sorted list or null. A question with `only` hides all packages of the repository but those. Installs nothing.
"""
import json
import sys

import dnf


def ask(base, question):
    base.reset(goal=True)
    base.sack.reset_excludes()
    if 'only' in question:
        kept = set(question['only'])
        others = [p for p in base.sack.query() if '%s %s' % (p.name, p.evr) not in kept]
        base.sack.add_excludes(base.sack.query().filter(pkg=others))
    base.conf.install_weak_deps = question.get('recommends', False)
    try:
        base.install(question['root'])
        base.resolve()
    except dnf.exceptions.Error:
        return None
    return sorted('%s %s' % (p.name, p.evr) for p in base.transaction.install_set)


for line in sys.stdin:
    case = json.loads(line)
    base = dnf.Base()
    conf = base.conf
    conf.installroot = case['folder'] + '/root'
    conf.cachedir = case['folder'] + '/cache'
    conf.persistdir = case['folder'] + '/persist'
    conf.logdir = case['folder']
    conf.reposdir = []
    conf.varsdir = []
    conf.substitutions['arch'] = 'x86_64'
    conf.substitutions['basearch'] = 'x86_64'
    conf.substitutions['releasever'] = '9'
    base.repos.add_new_repo('r', conf, baseurl=['file://' + case['folder']])
    base.fill_sack(load_system_repo=False)
    print(json.dumps([ask(base, question) for question in case['questions']]), flush=True)
    base.close()

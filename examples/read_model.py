#!/usr/bin/env python3
"""Predicts with a model of advgp without advgp: numpy alone, from docs/model-format.md.

  read_model.py MODEL TABLE.csv [LEVEL]    prints mean, sd_f, sd_y, lo, hi, as `advgp predict MODEL TABLE.csv` does

For models of numeric columns, of every method and map."""
import csv, json, sys
import numpy as np

def read(path):  # safetensors: 8 bytes of length, a JSON header, the numbers
    raw = open(path, 'rb').read()
    n = 8 + int.from_bytes(raw[:8], 'little')
    header = json.loads(raw[8:n])
    meta = json.loads(header.pop('__metadata__')['advgp'])
    return meta, {name: np.frombuffer(raw[n + t['data_offsets'][0]:n + t['data_offsets'][1]], '<f8').reshape(t['shape'])
                  for name, t in header.items()}

KERNELS = {'ard-rbf': lambda s: np.exp(-s / 2),
           'matern32': lambda s: (1 + np.sqrt(3 * s)) * np.exp(-np.sqrt(3 * s)),
           'matern52': lambda s: (1 + np.sqrt(5 * s) + 5 * s / 3) * np.exp(-np.sqrt(5 * s))}

def kernel(name, ln_a0, ln_eta):
    return lambda x, y: np.exp(2 * ln_a0) * KERNELS[name](((x[:, None] - y) ** 2 * np.exp(ln_eta)).sum(-1))

def features(meta, t, X):  # phi (rows x M), and what the kernels have beyond phi
    blocks, residual, several = [], 0, len(meta['components']) > 1
    for b, c in enumerate(meta['components']):
        own = lambda name: t[name + f'.{b}' * several]
        z, ln_a0 = own('z'), own('ln_a0')
        k = kernel(c['kernel'], ln_a0, own('ln_eta'))
        if c['map'] == 'cholesky':
            K = k(z, z) + t['jitter'][b] * np.exp(2 * ln_a0) * np.eye(len(z))
            R = np.linalg.cholesky(K[::-1, ::-1])[::-1, ::-1]  # upper triangular, K = R R^T
            phi = np.linalg.solve(R, k(z, X)).T
        elif c['map'] == 'rvm':
            phi = k(X, z) * np.sqrt(1 / (1 + np.exp(-own('rho'))) / k(z, z).sum(1))
        else:
            phi = k(X, z) @ own('t')  # nystrom, ensemble: the file has T
        residual = residual + np.maximum(0, np.exp(2 * ln_a0) - (phi ** 2).sum(1))
        blocks.append(phi)
    if meta['trend'] != 'none': blocks.append(np.full((len(X), 1), np.exp(t['ln_trend'][0])))
    if meta['trend'] == 'linear': blocks.append(np.exp(t['ln_trend'][1]) * X)
    return np.hstack(blocks), residual

# ---- the three forms: mean and latent variance at standardised inputs

def upper(packed, n):
    U = np.zeros((n, n))
    U[np.triu_indices(n)] = packed
    return U

def weights(meta, t, X):
    phi, residual = features(meta, t, X)
    mean, spread = phi @ t['mu'], 0
    if 'cells' in meta:
        mean, spread, residual = add_cells(meta['cells'], t, X, phi, mean, residual)
    return mean, spread + ((phi @ upper(t['u'], t['mu'].size).T) ** 2).sum(1) + residual

def add_cells(cells, t, X, phi, mean, residual):  # takes from phi what the cells know
    d, spread, mean = X.shape[1], np.zeros(len(X)), mean.copy()
    near = (((X[:, None] - t['cell_centres']) * t['cell_scale']) ** 2).sum(-1).argmin(1)
    at_theta = at_mu = at_u = 0
    n_scales = {'none': 0, 'constant': 1, 'linear': 2}[cells['trend']]
    for c, m in enumerate(cells['m']):
        theta = t['cell_theta'][at_theta:][:2 + d + m * d + n_scales]  # ln sigma, ln a0, ln eta, z, ln s_c, ln s_l
        own = {'ln_a0': theta[1], 'ln_eta': theta[2:2 + d], 'z': theta[2 + d:2 + d + m * d].reshape(m, d),
               'ln_trend': theta[2 + d + m * d:], 'jitter': t['cell_jitter'][c:]}
        rows = near == c
        l, rest = features({'components': [{'kernel': cells['kernel'], 'map': 'cholesky'}], 'trend': cells['trend']},
                           own, X[rows])
        M = l.shape[1]
        z = l @ upper(t['cell_u'][at_u:][:M * (M + 1) // 2], M).T
        mean[rows] += l @ t['cell_mu'][at_mu:][:M]
        phi[rows] -= z @ t['cell_w'][at_mu:][:M]
        spread[rows], residual[rows] = (z ** 2).sum(1), residual[rows] + rest
        at_theta, at_mu, at_u = at_theta + theta.size, at_mu + M, at_u + M * (M + 1) // 2
    return mean, spread, residual

def linear(meta, t, X):
    phi = np.hstack([np.ones((len(X), 1)), X])[:, :t['coef'].size]
    return phi @ t['coef'], (phi @ t['coef_cov'] * phi).sum(1)

def exact(meta, t, X):
    base, Z = kernel(meta['kernel'], t['ln_a0'], t['ln_eta']), t['x_train']
    s = np.append(np.exp(2 * t['ln_trend']), 0) if meta['trend'] != 'none' else np.zeros(2)
    k = lambda x, y: base(x, y) + s[0] + s[1] * x @ y.T
    K = k(Z, Z) + np.diag(np.exp(2 * t['ln_sigma']) / t.get('w_train', np.ones(len(Z))))
    K += t['jitter'][0] * np.diag(K).mean() * np.eye(len(Z))
    cross = k(Z, X)
    prior = np.exp(2 * t['ln_a0']) + s[0] + s[1] * (X ** 2).sum(1)
    return cross.T @ t['alpha'], prior - (cross * np.linalg.solve(K, cross)).sum(0)

FORMS = {'weights': weights, 'linear': linear, 'exact': exact}

def scale(meta, t, X, mean, var_f):  # both variances times g^2, by a second model, of ln g
    noise = np.exp(2 * t['ln_sigma'])
    if 'noise' not in meta: return var_f, var_f + noise
    own = {name[6:]: v for name, v in t.items() if name.startswith('noise.')}
    if meta['noise']['d'] > meta['d']: X = np.column_stack([X, mean, np.log(var_f + 0.01 * noise + 1e-8) / 2])
    ln_g = own['y_mean'] + own['y_scale'] * weights(meta['noise'], own, X)[0]
    g2 = np.exp(2 * np.clip(ln_g, *own['range']))
    return (var_f * g2, (var_f + noise) * g2) if meta['noise']['d'] > meta['d'] else (var_f, var_f + g2)

def ends(level, quantiles, tails):  # of an interval, in sd_y
    low, high, u = quantiles[1], quantiles[-2], (1 - level) / 2
    if u < 0.001: return low + tails[0] * np.log(1000 * u), high - tails[1] * np.log(1000 * u)
    return np.interp([u, 1 - u], np.linspace(0, 1, 1001), quantiles)

def scores(t, level, mean, sd):  # the ends of each row
    if 'calibration_tails' not in t:  # format 1
        s = np.interp(level, np.linspace(0, 1, 1001), t['calibration'])
        return -s, s
    if 'group_calibration' not in t: return ends(level, t['calibration'], t['calibration_tails'])
    tenth = (mean[:, None] > t['group_means']).sum(1)
    third = (sd[:, None] > t['group_sds'][tenth]).sum(1)
    all_ends = np.array([ends(level, q, tails) for q, tails in zip(t['group_calibration'], t['group_tails'])])
    return all_ends[3 * tenth + third].T

def predict(path, rows, level):
    meta, t = read(path)
    inputs = meta['schema']['inputs']
    assert all(i['encoding'] == 'number' and not i['indicator'] for i in inputs), 'a column that is no plain number'
    X = np.array([[float(r[i['name']]) for i in inputs] for r in rows])
    limits = np.array([i.get('limits', [None, None]) for i in inputs], float)  # None becomes NaN: an open end
    X = np.fmin(np.fmax(X, limits[:, 0]), limits[:, 1])
    for k, i in enumerate(inputs):
        if 'ranks' in i: X[:, k] = np.interp(X[:, k], *i['ranks'])
    plain = len(inputs)
    X = (X - t['x_mean'][:plain]) / t['x_scale'][:plain]
    if 'directions' in meta['schema']: X = np.hstack([X, X @ np.array(meta['schema']['directions']).T])
    mean, var_f = FORMS[meta.get('form', 'weights')](meta, t, X)
    var_f, var_y = scale(meta, t, X, mean, np.maximum(0, var_f))
    lo, hi = scores(t, level, mean, np.sqrt(var_y))
    mean, sd_f, sd_y = t['y_mean'] + t['y_scale'] * mean, *(t['y_scale'] * np.sqrt(v) for v in (var_f, var_y))
    least, most = np.array(meta['schema'].get('bounds', [None, None]), float)
    cut = lambda v: np.fmin(np.fmax(v, least), most)
    return np.column_stack([cut(mean), sd_f, sd_y, cut(mean + lo * sd_y), cut(mean + hi * sd_y)])

if __name__ == '__main__':
    level = float(sys.argv[3]) if len(sys.argv) > 3 else 0.9
    answers = predict(sys.argv[1], list(csv.DictReader(open(sys.argv[2]))), level)
    print('mean,sd_f,sd_y,lo,hi', *(','.join(f'{v:.17g}' for v in row) for row in answers), sep='\n')

% BF-Matlab of Garcia et al. 2008, for Octave: octave-cli brute_force.m POINTS QUERIES n q d k SORT IDS
%
% POINTS and QUERIES are files of f32, a point after the other; IDS gets k indices (i64, from 0) of each query.
% SORT: "insertion", the sort that keeps the k smallest, in the interpreter; "sort", Octave's own of all distances.
% Prints seconds by the clock and of processor time, without those of reading and writing.
arguments = argv();
[points_file, queries_file, ids_file] = arguments{[1, 2, 8]};
[n, q, d, k] = num2cell(cellfun(@str2double, arguments(3:6))){:};
inserting = strcmp(arguments{7}, "insertion");

function values = read_columns(name, d, count)
    file = fopen(name, "r");
    values = fread(file, [d, count], "single=>single");
    fclose(file);
end

points = read_columns(points_file, d, n);
queries = read_columns(queries_file, d, q);
ids = zeros(k, q, "int64");
before = cputime();
tic;
for i = 1:q
    difference = points - queries(:, i);
    distances = sum(difference .* difference, 1);
    if inserting
        kept = inf(1, k, "single");
        near = zeros(1, k);
        threshold = kept(k);
        for j = 1:n
            value = distances(j);
            if value < threshold
                at = k;
                while at > 1 && kept(at - 1) > value
                    kept(at) = kept(at - 1);
                    near(at) = near(at - 1);
                    at = at - 1;
                end
                kept(at) = value;
                near(at) = j;
                threshold = kept(k);
            end
        end
    else
        [~, order] = sort(distances);
        near = order(1:k);
    end
    ids(:, i) = near - 1;
end
printf("%.6f %.6f\n", toc, cputime() - before);
file = fopen(ids_file, "w");
fwrite(file, ids, "int64");
fclose(file);
